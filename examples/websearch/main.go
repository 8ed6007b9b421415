// Command websearch is a server with a read-only tool in an open world: its
// query leaves the house, and its results are strangers' words. It asks any
// search engine that answers as SearXNG does, named by WEB_SEARCH_URL.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/examples/internal/serve"
	"github.com/annotary/annotary/tool"
)

type query struct {
	Query string `json:"query" jsonschema:"what to search for"`
}

type hit struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Content string `json:"content"`
}

type hits struct {
	Results []hit `json:"results"`
}

// An engine is a search engine at an address.
type engine struct {
	url    string
	client *http.Client
}

func newServer(e engine) *tool.Server {
	s := tool.New("websearch", "1.0.0", nil)
	tool.Add(s, tool.Read(tool.Open), tool.Spec{
		Name:        "web_search",
		Title:       "Web search",
		Description: "Search the internet for current information.",
		Sensitive:   annotary.No,
		Untrusted:   annotary.Yes, // anybody can write a web page
		Egress:      annotary.Yes, // the query goes to a third party
		Timeout:     20 * time.Second,
	}, func(ctx context.Context, _ *tool.Call, in query) (hits, error) {
		return e.search(ctx, in.Query)
	})
	return s
}

// maxAnswer bounds what is read of an engine's answer.
const maxAnswer = 4 << 20

func (e engine) search(ctx context.Context, q string) (hits, error) {
	if e.url == "" {
		return hits{}, tool.Errorf("no search engine is configured: set WEB_SEARCH_URL")
	}
	u, err := url.Parse(e.url)
	if err != nil {
		return hits{}, err
	}
	u.RawQuery = url.Values{"q": {q}, "format": {"json"}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return hits{}, err
	}
	res, err := e.client.Do(req)
	if err != nil {
		return hits{}, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return hits{}, tool.Errorf("the search engine answered %d", res.StatusCode)
	}
	var found hits
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(&found); err != nil {
		return hits{}, fmt.Errorf("reading the engine's answer: %w", err)
	}
	return found, nil
}

func main() {
	s := newServer(engine{os.Getenv("WEB_SEARCH_URL"), http.DefaultClient})
	serve.Main(s, s.HTTP())
}
