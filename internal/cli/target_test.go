package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestLint_header reaches a server that wants a token, which comes from the
// environment.
func TestLint_header(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		raw, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case bytes.Contains(raw, []byte(`"initialize"`)):
			_, _ = io.WriteString(w, answerTo(raw, `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`))
		case bytes.Contains(raw, []byte(`"tools/list"`)):
			_, _ = io.WriteString(w, answerTo(raw, `"result":{"tools":[{"name":"list_orders","title":"List Orders","annotations":{"readOnlyHint":true}}]}`))
		default:
			_, _ = io.WriteString(w, answerTo(raw, `"error":{"code":-32601,"message":"unknown method"}`))
		}
	}))
	defer srv.Close()
	t.Setenv("TOKEN", "s3cret")
	var sarif, errs strings.Builder
	if code := Run(t.Context(), &Streams{In: strings.NewReader(""), Out: &sarif, Err: &errs}, []string{
		"lint", "--format", "sarif", "--header", "Authorization: Bearer ${TOKEN}", srv.URL + "/?key=hunter2",
	}); code != 0 || strings.Contains(sarif.String()+errs.String(), "hunter2") {
		t.Errorf("exit code %d, and the report of an address with a key is %s%s", code, sarif.String(), errs.String())
	}
	for header, want := range map[string]int{"Authorization: Bearer ${TOKEN}": 0, "Authorization: Bearer wrong": 4} {
		var out, errs strings.Builder
		code := Run(t.Context(), &Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, []string{"lint", "--header", header, srv.URL})
		if code != want {
			t.Errorf("%s: exit code %d, want %d\n%s%s", header, code, want, out.String(), errs.String())
		}
		if strings.Contains(out.String()+errs.String(), "s3cret") {
			t.Errorf("%s: the secret was printed", header)
		}
	}
}

// answerTo answers a request with a body after its id; a notification with
// nothing.
func answerTo(raw []byte, body string) string {
	_, rest, ok := bytes.Cut(raw, []byte(`"id":`))
	if !ok {
		return ""
	}
	id, _, _ := bytes.Cut(rest, []byte(","))
	return `{"jsonrpc":"2.0","id":` + strings.TrimRight(string(id), "}") + `,` + body + `}`
}
