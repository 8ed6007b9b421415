package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// A deedsServer does what it is told and writes it down: a line for every deed,
// and one when more of a kind are under way than ever before. It can lose its
// first calls of each tool after the deed is done, and hold looks back until
// many are there.
type deedsServer struct {
	diary    string
	drops    int
	together int

	mu    sync.Mutex
	busy  map[string]int
	most  map[string]int
	lines sync.Mutex // one answer at a time on the pipe
}

// deedsMCP runs it: as a command, whose death loses the call, or with -http.
func deedsMCP() {
	s := &deedsServer{busy: map[string]int{}, most: map[string]int{}}
	flag.StringVar(&s.diary, "diary", "", "where deeds are written down")
	flag.IntVar(&s.drops, "drops", 0, "how many calls of each tool are lost after the deed")
	flag.IntVar(&s.together, "together", 0, "how many looks wait for each other")
	addr := flag.String("http", "", "where to listen; if empty, standard streams")
	flag.Parse()
	if *addr != "" {
		check((&http.Server{Addr: *addr, Handler: s}).ListenAndServe())
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		msg := strings.Clone(lines.Text())
		go func() {
			if answer := s.answer([]byte(msg)); answer == nil {
				os.Exit(3)
			} else if len(answer) > 0 {
				s.lines.Lock()
				defer s.lines.Unlock()
				fmt.Printf("%s\n", answer)
			}
		}()
	}
	os.Exit(0)
}

func (s *deedsServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	answer := s.answer(body)
	switch {
	case answer == nil:
		panic(http.ErrAbortHandler)
	case len(answer) == 0:
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Mcp-Session-Id", "1")
		_, _ = w.Write(answer)
	}
}

// answer answers a message: empty for a notification, nil for a call that is
// lost.
func (s *deedsServer) answer(raw []byte) []byte {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name string }
	}
	check(json.Unmarshal(raw, &m))
	if m.ID == nil {
		return []byte{}
	}
	result := `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"deeds","version":"1"}}`
	switch m.Method {
	case "initialize":
	case "tools/list":
		result = `{"tools":[{"name":"look","inputSchema":{"type":"object"}},{"name":"again","inputSchema":{"type":"object"}},{"name":"write","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		if s.do(m.Params.Name) <= s.drops {
			return nil
		}
		result = `{"content":[{"type":"text","text":"done"}]}`
	default:
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`, m.ID)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// do does a deed and returns how many of its kind there were, ever: the diary
// outlives the process.
func (s *deedsServer) do(tool string) int {
	s.mu.Lock()
	s.note("did " + tool)
	done, err := os.ReadFile(s.diary)
	check(err)
	if s.busy[tool]++; s.busy[tool] > s.most[tool] {
		s.most[tool] = s.busy[tool]
		s.note(fmt.Sprintf("%d %s at once", s.most[tool], tool))
	}
	s.mu.Unlock()
	for end := time.Now().Add(30 * time.Second); tool == "look" && time.Now().Before(end) && s.peak(tool) < s.together; {
		time.Sleep(time.Millisecond)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[tool]--
	return strings.Count(string(done), "did "+tool+"\n")
}

func (s *deedsServer) peak(tool string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most[tool]
}

func (s *deedsServer) note(line string) {
	f, err := os.OpenFile(s.diary, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	check(err)
	_, err = fmt.Fprintln(f, line)
	check(err)
	check(f.Close())
}

// callAll is a client that makes many calls at once, each with an argument of
// its own: call-all URL TOOL N. It prints how many were answered with "done".
func callAll() {
	c := newLegacyClient(os.Args[1])
	var n int
	_, err := fmt.Sscan(os.Args[3], &n)
	check(err)
	var calls sync.WaitGroup
	answers := make([]string, n)
	for i := range n {
		calls.Go(func() {
			answers[i] = c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"n":%d}}}`, i+2, os.Args[2], i))
		})
	}
	calls.Wait()
	good := 0
	for i, a := range answers {
		if strings.Contains(a, fmt.Sprintf(`"id":%d,`, i+2)) && strings.Contains(a, `"done"`) {
			good++
		}
	}
	fmt.Println(good, "done")
	os.Exit(0)
}
