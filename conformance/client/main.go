// Command client is the gateway's upstream leg as a client of its own, for the
// client scenarios of the official conformance suite. The suite starts it with
// the URL of a server that watches; MCP_CONFORMANCE_SCENARIO says what to do
// there. It sends no HTTP headers itself: those are the leg's.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := run(ctx, os.Args[1:], os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

// scenarios say what to do at the server of each scenario.
var scenarios = map[string]func(ctx context.Context, c *client, given []byte) error{
	"tools_call":                    callSum,
	"request-metadata":              listTools,
	"json-schema-ref-no-deref":      listTools,
	"sep-2322-client-request-state": answerQuestions,
	"http-standard-headers":         useEverything,
	"http-custom-headers":           callGiven,
	"http-invalid-tool-headers":     callAll,
}

func run(ctx context.Context, args []string, env func(string) string) error {
	do := scenarios[env("MCP_CONFORMANCE_SCENARIO")]
	if do == nil || len(args) != 1 {
		return errors.New("needs a URL and MCP_CONFORMANCE_SCENARIO")
	}
	server, err := upstream.New(upstream.Target{Name: "suite", URL: args[0]}, upstream.ServerOptions{})
	if err != nil {
		return err
	}
	c := &client{leg: server.Leg(upstream.Who{}, upstream.EraModern), version: rpc.Modern}
	if _, err := c.ask(ctx, "server/discover", `{}`); err != nil {
		return err
	}
	return do(ctx, c, []byte(env("MCP_CONFORMANCE_CONTEXT")))
}

// A client asks a server one thing after the other, as a modern host does.
type client struct {
	leg     upstream.Leg
	next    int64
	version string
}

const meta = `{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},` +
	`"io.modelcontextprotocol/clientInfo":{"name":"annotary-conformance","version":"1"}}`

// ask sends a request and returns its result. Params are a JSON object; what a
// request must carry in _meta is added. A server that speaks another version
// is asked again in one it names.
func (c *client) ask(ctx context.Context, method, params string) ([]byte, error) {
	m, err := c.send(ctx, method, params)
	if err != nil {
		return nil, err
	}
	fault := m.Fault()
	if fault != nil && fault.Code == rpc.CodeUnsupportedVersion {
		for _, v := range strict.Elements(strict.Get(fault.Data, "supported")) {
			c.version, _ = strict.Text(v)
			if m, err = c.send(ctx, method, params); err != nil {
				return nil, err
			}
			fault = m.Fault()
			break
		}
	}
	if fault != nil {
		return nil, fault
	}
	return m.Result(), nil
}

func (c *client) send(ctx context.Context, method, params string) (rpc.Message, error) {
	c.next++
	full := fmt.Sprintf(`{"_meta":`+meta, c.version)
	if rest := params[1:]; rest != "}" {
		full += "," + rest
	} else {
		full += "}"
	}
	m, err := rpc.Parse(rpc.NewRequest(c.next, method, []byte(full)), strict.Limits{})
	if err != nil {
		return m, err
	}
	answer, err := c.leg.Send(ctx, &m, nil)
	if err != nil {
		return m, err
	}
	defer answer.Close()
	return final(ctx, answer)
}

// final returns the response in an answer.
func final(ctx context.Context, a *upstream.Answer) (rpc.Message, error) {
	if a.Stream == nil {
		// The body is gone when the answer is closed.
		return rpc.Parse(append([]byte(nil), a.Body...), strict.Limits{})
	}
	for {
		it, err := a.Stream.Next(ctx)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("the stream ended without an answer")
			}
			return rpc.Message{}, err
		}
		if m, err := rpc.Parse(it.Msg, strict.Limits{}); err == nil && m.Kind == rpc.Response {
			return m, nil
		}
	}
}

func (c *client) call(ctx context.Context, name string, arguments []byte) ([]byte, error) {
	return c.ask(ctx, "tools/call", fmt.Sprintf(`{"name":%s,"arguments":%s}`, strict.Quote(name), arguments))
}

func listTools(ctx context.Context, c *client, _ []byte) error {
	_, err := c.ask(ctx, "tools/list", `{}`)
	return err
}

func callSum(ctx context.Context, c *client, given []byte) error {
	if err := listTools(ctx, c, given); err != nil {
		return err
	}
	_, err := c.call(ctx, "add_numbers", []byte(`{"a":5,"b":3}`))
	return err
}

// callGiven makes the calls the suite gives.
func callGiven(ctx context.Context, c *client, given []byte) error {
	if err := listTools(ctx, c, nil); err != nil {
		return err
	}
	for _, call := range strict.Elements(strict.Get(given, "toolCalls")) {
		name, _ := strict.Text(strict.Get(call, "name"))
		if _, err := c.call(ctx, name, strict.Get(call, "arguments")); err != nil {
			return err
		}
	}
	return nil
}

// callAll calls every tool the server lists. The leg must refuse those whose
// definition is wrong and pass the others.
func callAll(ctx context.Context, c *client, _ []byte) error {
	result, err := c.ask(ctx, "tools/list", `{}`)
	if err != nil {
		return err
	}
	for _, tool := range strict.Elements(strict.Get(result, "tools")) {
		name, _ := strict.Text(strict.Get(tool, "name"))
		_, err := c.call(ctx, name, []byte(`{"region":"us-west1"}`))
		if _, refused := errors.AsType[*rpc.Fault](err); err != nil && !refused {
			return err
		}
	}
	return nil
}

// useEverything lists and uses tools, resources and prompts once each.
func useEverything(ctx context.Context, c *client, _ []byte) error {
	for _, use := range []struct{ list, what, key, method string }{
		{"tools/list", "tools", "name", "tools/call"},
		{"resources/list", "resources", "uri", "resources/read"},
		{"prompts/list", "prompts", "name", "prompts/get"},
	} {
		result, err := c.ask(ctx, use.list, `{}`)
		if err != nil {
			return err
		}
		for _, item := range strict.Elements(strict.Get(result, use.what)) {
			params := fmt.Sprintf(`{%q:%s,"arguments":{}}`, use.key, strict.Get(item, use.key))
			if _, err := c.ask(ctx, use.method, params); err != nil {
				return err
			}
		}
	}
	return nil
}

// answerQuestions calls every tool and says yes to what a server asks back,
// with its state untouched.
func answerQuestions(ctx context.Context, c *client, _ []byte) error {
	for _, name := range []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"} {
		result, err := c.call(ctx, name, []byte("{}"))
		for rounds := 0; err == nil && string(strict.Get(result, "resultType")) == `"input_required"`; rounds++ {
			if rounds == 10 {
				return errors.New("the server never stops asking")
			}
			result, err = c.ask(ctx, "tools/call", retry(name, result))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// retry repeats a call with answers to what the server asked.
func retry(name string, result []byte) string {
	answers := map[string]json.RawMessage{}
	for key := range strict.Members(strict.Get(result, "inputRequests")) {
		answers[key] = json.RawMessage(`{"action":"accept","content":{"confirmed":true}}`)
	}
	given, _ := json.Marshal(answers) // raw JSON always marshals
	params := fmt.Sprintf(`{"name":%s,"arguments":{},"inputResponses":%s`, strict.Quote(name), given)
	if state := strict.Get(result, "requestState"); state != nil {
		params += `,"requestState":` + string(state)
	}
	return params + "}"
}
