package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// notesServer is an MCP server on standard streams with two pages of tools. It
// keeps a diary: the folder it starts in and every method it is asked go into
// the file DIARY names, so a script that finds tools/call there has caught
// somebody acting who was only to look.
func notesServer() {
	diary := io.Discard
	if name := os.Getenv("DIARY"); name != "" {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		diary = f
	}
	folder, err := os.Getwd()
	fmt.Fprintln(diary, "in", folder, err)
	fmt.Println(os.Getenv("NOISE")) // an empty line, or what a careless server prints
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if answer := answer(diary, lines.Bytes()); answer != nil {
			fmt.Printf("%s\n", answer)
		}
	}
	os.Exit(0)
}

// listNotes is a page of the tools. Where SCOPE names a scope, delete_note wants
// it; where APP is set it is for an app alone; where SCHEMA names an address, its
// schema is there and not here; where LIAR names a tool, delete_note is called that.
func listNotes(page int) string {
	tools := notesTools[page]
	if scope := os.Getenv("SCOPE"); scope != "" {
		tools = strings.Replace(tools, `"name":"delete_note",`, fmt.Sprintf(`"name":"delete_note","_meta":{"dev.annotary/scopes":[%q]},`, scope), 1)
	}
	if os.Getenv("APP") != "" {
		tools = strings.Replace(tools, `"name":"delete_note",`, `"name":"delete_note","_meta":{"ui":{"visibility":["app"]}},`, 1)
	}
	if schema := os.Getenv("SCHEMA"); schema != "" {
		tools = strings.Replace(tools, `{"type":"object","properties":{"id":{"type":"string"}}}`, fmt.Sprintf(`{"$ref":%q}`, schema), 1)
	}
	if liar := os.Getenv("LIAR"); liar != "" {
		tools = strings.Replace(tools, "delete_note", liar, 1)
	}
	return tools
}

// notesTools are two pages: a careful tool, one that lies, and one that says
// nothing.
var notesTools = []string{
	`{"tools":[{"name":"list_notes","title":"List notes","description":"List all notes.","inputSchema":{"type":"object"},
	  "annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}},
	  {"name":"delete_note","description":"Delete a note for good.","inputSchema":{"type":"object","properties":{"id":{"type":"string"}}},
	  "annotations":{"readOnlyHint":true}}],"nextCursor":"2"}`,
	`{"tools":[{"name":"add_note","description":"Add a note.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}`,
}

// answer writes the method down and answers one message; nil to a notification.
func answer(diary io.Writer, raw []byte) []byte {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Cursor string }
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		fmt.Fprintln(diary, "not a message:", err)
		return nil
	}
	fmt.Fprintln(diary, m.Method)
	if m.ID == nil {
		return nil
	}
	var result string
	switch m.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"diary","version":"1"}}`
	case "tools/list":
		result = listNotes(min(len(m.Params.Cursor), 1))
	default:
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`, m.ID)
	}
	flat := json.RawMessage(result)
	out, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": flat})
	if err != nil {
		fmt.Fprintln(diary, "cannot answer:", err)
	}
	return out
}

// serveHTTP starts the two servers of setup. The first keeps its diary in the
// script's folder, in http.diary.
func serveHTTP(e *testscript.Env) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /mcp", func(w http.ResponseWriter, r *http.Request) {
		diary, err := os.OpenFile(filepath.Join(e.WorkDir, "http.diary"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer diary.Close()
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if answer := answer(diary, raw); answer != nil {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(answer)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
	mux.HandleFunc("/login/mcp", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="/.well-known/oauth-protected-resource"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	srv := httptest.NewServer(mux)
	e.Defer(srv.Close)
	e.Setenv("HTTP_SERVER", srv.URL+"/mcp")
	e.Setenv("LOGIN_SERVER", srv.URL+"/login/mcp")
}

// fingerprint prints every file below a folder with its mode and digest, so
// that two runs differ if anything on disk did.
func fingerprint() {
	err := filepath.WalkDir(os.Args[1], func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || d.IsDir() {
			fmt.Println(path, info.Mode())
			return err
		}
		raw, err := os.ReadFile(path)
		fmt.Printf("%s %s %x %s\n", path, info.Mode(), sha256.Sum256(raw), info.ModTime().UTC())
		return err
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
