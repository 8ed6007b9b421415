package wire

import (
	"fmt"
	"net/http"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
)

// isModern decides the era of a request. It is modern if header or _meta names
// a version without a handshake; then both must name the same.
func isModern(h http.Header, m *rpc.Message) (bool, error) {
	header, body := h[rpc.HeaderVersion], ""
	version, named := m.Version()
	if named {
		body = version
	}
	modern := rpc.IsModern(body)
	for _, v := range header {
		modern = modern || rpc.IsModern(v)
	}
	if !modern {
		return false, nil
	}
	return true, checkModern(h, m, named)
}

// checkModern holds a modern request to what the specification demands of it.
func checkModern(h http.Header, m *rpc.Message, named bool) error {
	if m.Kind == rpc.Response {
		return &rpc.Fault{Code: rpc.CodeInvalidRequest, Message: "a client does not post responses in this protocol version"}
	}
	if m.Kind == rpc.Request && !named {
		return &rpc.Fault{Code: rpc.CodeInvalidParams, Message: "_meta lacks " + rpc.MetaVersion}
	}
	version, _ := m.Version()
	if header := h[rpc.HeaderVersion]; len(header) != 1 || (named && header[0] != version) {
		return mismatch(rpc.HeaderVersion)
	}
	if err := checkHeaders(h, m); err != nil {
		return err
	}
	if version := h[rpc.HeaderVersion][0]; version != rpc.Modern {
		return unsupportedVersion(version)
	}
	if m.Kind == rpc.Request && !m.HasCapabilities() {
		return &rpc.Fault{Code: rpc.CodeInvalidParams, Message: "_meta lacks " + rpc.MetaCapabilities}
	}
	return nil
}

// checkHeaders compares what headers repeat with the body: whoever routes or
// judges by headers must see the message that is carried out.
func checkHeaders(h http.Header, m *rpc.Message) error {
	if !headerSays(h, rpc.HeaderMethod, m.Method) {
		return mismatch(rpc.HeaderMethod)
	}
	if target, ok := m.Target(); ok && !headerSays(h, rpc.HeaderName, target) {
		return mismatch(rpc.HeaderName)
	}
	return nil
}

func headerSays(h http.Header, name, want string) bool {
	values := h[name]
	if len(values) != 1 {
		return false
	}
	got, ok := rpc.DecodeHeader(values[0])
	return ok && got == want
}

func mismatch(header string) error {
	return &rpc.Fault{Code: rpc.CodeHeaderMismatch, Message: "the header " + header + " is missing or differs from the body"}
}

func unsupportedVersion(requested string) error {
	return &rpc.Fault{
		Code: rpc.CodeUnsupportedVersion, Message: "this protocol version is not supported",
		Data: fmt.Appendf(nil, `{"supported":[%q],"requested":%s}`, rpc.Modern, strict.Quote(requested)),
	}
}
