package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// The revisions measured, one of each era.
const (
	modern = "2026-07-28"
	legacy = "2025-11-25"
)

// The server behind is as lean as one can be written, so that what is measured
// is the process in the middle. It knows one tool, which echoes a text.

// request is what the server reads of a message.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ProtocolVersion string `json:"protocolVersion"`
		Arguments       struct {
			Text json.RawMessage `json:"text"`
		} `json:"arguments"`
		Meta map[string]json.RawMessage `json:"_meta"`
	} `json:"params"`
}

const (
	tools = `"tools":[{"name":"echo","description":"Returns its text","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]`
	cache = `"resultType":"complete","ttlMs":0,"cacheScope":"public"`
)

// answer returns the answer to a message; none to a notification.
func answer(message []byte) ([]byte, error) {
	var q request
	if err := json.Unmarshal(message, &q); err != nil {
		return nil, err
	}
	if q.ID == nil {
		return nil, nil
	}
	var result string
	switch q.Method {
	case "tools/call":
		result = fmt.Sprintf(`{"content":[{"type":"text","text":%s}],"resultType":"complete"}`, q.Params.Arguments.Text)
	case "tools/list":
		result = "{" + tools + "," + cache + "}"
	case "server/discover":
		result = fmt.Sprintf(`{"supportedVersions":[%q,%q],"capabilities":{"tools":{}},%s}`, modern, legacy, cache)
	case "initialize":
		result = fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}`, q.Params.ProtocolVersion)
	case "ping":
		result = "{}"
	default:
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`, q.ID), nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, result), nil
}

func (r role) serveUpstream() error {
	var sessions atomic.Int64
	return listen(r.addr, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return
		}
		time.Sleep(r.takes)
		out, err := answer(body)
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadRequest)
		case out == nil:
			w.WriteHeader(http.StatusAccepted)
		default:
			if strings.Contains(string(out), `"protocolVersion"`) {
				w.Header().Set("Mcp-Session-Id", "s"+strconv.FormatInt(sessions.Add(1), 10))
			}
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(out)))
			_, _ = w.Write(out)
		}
	}))
}

// serveLines is the server as a command.
func serveLines(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		a, err := answer(lines.Bytes())
		if err != nil {
			return err
		}
		if a == nil {
			continue
		}
		_, err = out.Write(append(a, '\n'))
		if err != nil {
			return err
		}
	}
	return lines.Err()
}
