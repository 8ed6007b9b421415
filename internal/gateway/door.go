package gateway

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/find"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
	"github.com/annotary/annotary/shape"
)

// The tools of the endpoint that call nothing.
const (
	toolFind     = "find_tools"
	toolDescribe = "describe_tool"
)

// A door is a tool by which others are called. What it says of itself holds for
// everything that is called by it.
type door struct {
	name  string
	class annotary.Class
	says  annotary.Annotations
	about string
}

var doors = []door{
	{"call_read", annotary.Read, annotary.Annotations{ReadOnly: true, Idempotent: true, OpenWorld: true}, "Call a tool that changes nothing."},
	{"call_write", annotary.Write, annotary.Annotations{OpenWorld: true}, "Call a tool that may change or add something but destroys nothing."},
	{"call_destructive", annotary.Destroy, annotary.Annotations{Destructive: true, OpenWorld: true}, "Call a tool that may delete or overwrite, or of which that is not known."},
}

func doorFor(c annotary.Class) string {
	for _, d := range doors {
		if d.class == c {
			return d.name
		}
	}
	return doors[len(doors)-1].name
}

const (
	findSchema = `{"type":"object","properties":{` +
		`"query":{"type":"string","description":"What is to be done, in plain words, or the name of a tool. Without it every tool is listed."},` +
		`"max":{"type":"integer","minimum":1,"maximum":50,"description":"How many tools are wanted; 10 if left out."},` +
		`"read_only":{"type":"boolean","description":"Only tools that are known to change nothing."},` +
		`"exclude_destructive":{"type":"boolean","description":"No tools that may delete or overwrite."}},"additionalProperties":false}`
	describeSchema = `{"type":"object","properties":{` + toolProperty + `},"required":["tool"],"additionalProperties":false}`
	callSchema     = `{"type":"object","properties":{` + toolProperty + `,` +
		`"arguments":{"type":"object","description":"The arguments of the tool, by its input schema."}},"required":["tool"],"additionalProperties":false}`
	toolProperty = `"tool":{"type":"string","description":"The tool as SERVER/TOOL, as find_tools names it."}`
)

// doorList are the definitions of the endpoint's tools.
var doorList = func() []byte {
	looks := annotary.PresetReadOnly
	list := append([]byte{'['}, definition(toolFind, "Find tools of all servers that fit a question.", findSchema, looks)...)
	list = append(append(list, ','), definition(toolDescribe, "Show the definition of a tool: its input schema, what it does to the world and by which tool it is called.", describeSchema, looks)...)
	for _, d := range doors {
		list = append(append(list, ','), definition(d.name, d.about+" Find it with find_tools.", callSchema, d.says)...)
	}
	return append(list, ']')
}()

func definition(name, about, schema string, says annotary.Annotations) []byte {
	def := strict.Set([]byte(`{}`), strict.Quote(name), "name")
	def = strict.Set(def, strict.Quote(about), "description")
	hints := says.Hints(annotary.FromOperator, "the gateway holds every call to it")
	return catalog.Show(strict.Set(def, []byte(schema), "inputSchema"), &hints)
}

// found is a tool as find_tools shows it.
type found struct {
	Tool        string `json:"tool"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Class       string `json:"class"`
	Open        bool   `json:"open"`
	CallBy      string `json:"call_by"`
}

// maxDescription is how many characters of a description a search shows.
const maxDescription = 300

const (
	defaultFound = 10
	maxFound     = 50
)

// search answers find_tools. Everything it says is of what the caller may see.
func (d *dispatcher) search(ctx context.Context) *upstream.Answer {
	args := d.msg.Message.Arguments()
	q := find.Query{
		Text: textAt(args, "query"), Max: defaultFound,
		ReadOnly:           strict.KindOf(strict.Get(args, "read_only")) == strict.True,
		ExcludeDestructive: strict.KindOf(strict.Get(args, "exclude_destructive")) == strict.True,
	}
	if n, err := strconv.Atoi(string(strict.Get(args, "max"))); err == nil {
		q.Max = min(max(n, 1), maxFound)
	}
	answer := d.gateway.search(ctx, d.judge, d.msg, q)
	out := struct {
		Tools  []found       `json:"tools"`
		Hidden []find.Hidden `json:"hidden,omitempty"`
	}{Tools: []found{}, Hidden: answer.Hidden}
	for _, h := range answer.Hits {
		out.Tools = append(out.Tools, foundOf(h.Tool))
	}
	return d.say(out)
}

func foundOf(t *annotary.Entry) found {
	about := []rune(shape.Clean(t.Description))
	if len(about) > maxDescription {
		about = append(about[:maxDescription-1], '…')
	}
	class := t.Hints.Class()
	return found{t.Server + "/" + t.Name, shape.Clean(t.Title), string(about), class.String(), t.Hints.Open(), doorFor(class)}
}

// describe answers describe_tool with the definition as a list would show it.
func (d *dispatcher) describe(ctx context.Context) (*upstream.Answer, error) {
	server, name := d.target()
	if server == nil || d.judge.bars(&d.msg.Principal, server.Name) {
		return unknownTarget(d.msg), nil
	}
	tool, err := d.judge.tool(ctx, server, name)
	if err != nil {
		return nil, err
	}
	see := d.judge.seeThrough(d.msg, d.judge.subject(&d.msg.Principal), tool)
	if d.judge.hides(see, d.judge.now()) {
		return unknownTarget(d.msg), nil
	}
	return d.say(struct {
		found
		Definition json.RawMessage `json:"definition"`
	}{foundOf(&tool.Entry), tool.Shown}), nil
}

// say answers with a value, as JSON text and as structured content.
func (d *dispatcher) say(value any) *upstream.Answer {
	text, err := json.Marshal(value)
	if err != nil { // made of strings, and of JSON that was read strictly
		text = []byte("{}")
	}
	return d.result(toolResult(d.msg.Era, string(text), text))
}

// toolResult is the result of one of our own tools.
func toolResult(era upstream.Era, text string, structured []byte) []byte {
	out := append([]byte(`{"content":[{"type":"text","text":`), strict.Quote(text)...)
	out = append(out, `}]}`...)
	if structured != nil {
		out = strict.Set(out, structured, "structuredContent")
	}
	if era == upstream.EraModern {
		out = strict.Set(out, []byte(`"complete"`), "resultType")
	}
	return out
}

// failure is the result of one of our own tools that did not do what was asked.
func failure(era upstream.Era, code annotary.Code, text string) []byte {
	out := toolResult(upstream.EraLegacy, string(code)+": "+text, nil)
	out = strict.Set(out, []byte("true"), "isError")
	out = strict.Set(out, reasonData(code), "_meta", MetaDecision)
	if era == upstream.EraModern {
		out = strict.Set(out, []byte(`"complete"`), "resultType")
	}
	return out
}
