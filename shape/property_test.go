package shape_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/testenv"
	"github.com/annotary/annotary/shape"
)

func matches(pattern, s string) bool {
	re, err := regexp.Compile(pattern)
	return err == nil && re.MatchString(s)
}

// ours are schemas that are always at hand: the forms authors use, and the ones
// that are hard to cut.
var ours = []string{
	`{"type":"object","properties":{"data":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string","pattern":"^[a-z]+$"},"name":{"type":"string"}},"required":["id","name"],"additionalProperties":false}},"meta":{"type":"object","properties":{"cursor":{"type":"string"},"hasNextPage":{"type":"boolean"},"truncated":{"type":"boolean"}},"additionalProperties":false}},"required":["data"],"additionalProperties":false}`,
	`{"type":"object","properties":{"rows":{"type":"array","minItems":3,"items":{"type":"array","items":{"type":"string"}}}},"required":["rows"],"additionalProperties":false}`,
	`{"type":"object","properties":{"text":{"type":"string","minLength":5}},"required":["text"],"additionalProperties":false}`,
	`{"type":"object","additionalProperties":{"type":"string"}}`,
	`{"type":"array","items":{"$ref":"#/$defs/node"},"$defs":{"node":{"type":"object","properties":{"name":{"type":"string"},"kids":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["name"],"additionalProperties":false}}}`,
	`{"type":"object","properties":{"pet":{"oneOf":[{"type":"object","properties":{"kind":{"const":"cat"},"lives":{"type":"array","items":{"type":"string"}}},"required":["kind","lives"],"additionalProperties":false},{"type":"object","properties":{"kind":{"const":"dog"},"tricks":{"type":"array","items":{"type":"string"}}},"required":["kind","tricks"],"additionalProperties":false}]}},"required":["pet"]}`,
	`{"allOf":[{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}}},"required":["a"]},{"type":"object","properties":{"b":{"type":"string"}}}]}`,
	`{"type":"object","properties":{"tags":{"type":"array","uniqueItems":true,"items":{"type":"string"}},"note":{"type":["string","null"]}}}`,
	`{"type":"object"}`,
}

type outputSchema struct{ name, text string }

// outputSchemas are ours and every one of the corpus, each once.
func outputSchemas(t *testing.T, corpus bool) []outputSchema {
	t.Helper()
	var list []outputSchema
	if !corpus {
		for i, s := range ours {
			list = append(list, outputSchema{fmt.Sprint("ours-", i), s})
		}
		return list
	}
	seen := map[string]bool{}
	for line := range bytes.Lines(testenv.Corpus(t)) {
		s := strict.Get(line, "tool", "outputSchema")
		if s == nil || seen[string(s)] {
			continue
		}
		seen[string(s)] = true
		server, _ := strict.Text(strict.Get(line, "server"))
		tool, _ := strict.Text(strict.Get(line, "tool", "name"))
		list = append(list, outputSchema{server + "/" + tool, string(s)})
	}
	return list
}

// oracle is another's validator. It knows fewer regular expressions than
// JavaScript; patterns it cannot read are taken out.
func oracle(t *testing.T, schema string) *jsonschema.Resolved {
	t.Helper()
	var tree any
	if err := json.Unmarshal([]byte(schema), &tree); err != nil {
		t.Fatal(err)
	}
	dropLookahead(tree)
	var s jsonschema.Schema
	if err := json.Unmarshal(mustJSON(tree), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func dropLookahead(v any) {
	switch v := v.(type) {
	case map[string]any:
		if p, ok := v["pattern"].(string); ok && !matches(p, "") {
			if _, err := regexp.Compile(p); err != nil {
				delete(v, "pattern")
			}
		}
		for _, kid := range v {
			dropLookahead(kid)
		}
	case []any:
		for _, kid := range v {
			dropLookahead(kid)
		}
	}
}

func valid(r *jsonschema.Resolved, raw []byte) bool {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return false
	}
	return r.Validate(v) == nil
}

// TestResult_properties holds Result to its promises on values made from real
// and hand-made schemas.
func TestResult_properties(t *testing.T) { testProperties(t, outputSchemas(t, false), 100) }

func TestResult_corpus(t *testing.T) { testProperties(t, outputSchemas(t, true), 3) }

func testProperties(t *testing.T, schemas []outputSchema, rounds int) {
	t.Helper()
	made, refused := 0, 0
	for _, schema := range schemas {
		compiled, err := shape.Compile([]byte(schema.text))
		if err != nil {
			t.Errorf("%s: %v", schema.name, err)
			continue
		}
		check := oracle(t, schema.text)
		g := &generator{Rand: rand.New(rand.NewPCG(1, 2))}
		if err := json.Unmarshal([]byte(schema.text), &g.root); err != nil {
			t.Fatal(err)
		}
		valids := 0
		for range rounds {
			g.items, g.runes = 1+g.IntN(30), 1+g.IntN(300)
			seed := g.Uint64()
			value := g.again(seed, false)
			good := valid(check, mustJSON(value))
			if good {
				valids++
			}
			if g.IntN(2) == 0 {
				value = g.again(seed, true)
			}
			p := promise{
				T: t, name: schema.name, schema: compiled, oracle: check, good: good,
				in: mustJSON(value), limit: shape.MinLimit + g.IntN(6000), rand: g.Rand,
			}
			made++
			if p.hold() {
				refused++
			}
			if t.Failed() {
				return
			}
		}
		if valids == 0 {
			t.Logf("%s: no value made from it keeps to it", schema.name)
		}
	}
	t.Logf("%d schemas, %d results, %d refused", len(schemas), made, refused)
	if refused*20 > made {
		t.Errorf("%d of %d results were refused", refused, made)
	}
}

// again makes the value of the seed, with or without internal fields.
func (g *generator) again(seed uint64, internal bool) any {
	h := *g
	h.Rand, h.internal = rand.New(rand.NewPCG(seed, 0)), internal
	return h.value(g.root, 0)
}

// A promise is one result and all that must hold of its shape.
type promise struct {
	*testing.T
	name   string
	schema *shape.Schema
	oracle *jsonschema.Resolved
	good   bool
	in     []byte
	limit  int
	rand   *rand.Rand
}

const picture = `{"type":"image","data":"aGVsbG8=","mimeType":"image/png"}`

func (p *promise) hold() (refused bool) {
	texts := []string{string(p.in)}
	switch p.rand.IntN(4) {
	case 0: // a summary instead of a mirror
		texts = []string{strings.Repeat("Found some. ", p.rand.IntN(1000))}
	case 1: // pretty, and a summary behind it
		var pretty bytes.Buffer
		_ = json.Indent(&pretty, p.in, "", "  ")
		texts = []string{pretty.String(), strings.Repeat("x", p.rand.IntN(3000))}
	case 2:
		texts = nil
	}
	in := []byte(`{"content":[`)
	for _, s := range texts {
		in = append(append(append(in, `{"type":"text","text":`...), strict.Quote(s)...), `},`...)
	}
	in = fmt.Appendf(in, `%s],"structuredContent":%s,"other":9007199254740993}`, picture, p.in)
	o := shape.Options{Schema: p.schema, Limit: p.limit, Sanitise: true, Clean: true}
	out, report, err := shape.Result(in, o)
	if err != nil {
		p.Errorf("%s: %v", p.name, err)
		return false
	}
	again, _, err := shape.Result(out, o)
	if err != nil || !bytes.Equal(out, again) {
		p.Errorf("%s: not idempotent (%v)\n in %s\nout %s\nagn %s", p.name, err, in, out, again)
	}
	if report.Refused {
		return true
	}
	p.checkForm(out)
	p.checkAgreement(out, len(texts) > 0 && strings.HasPrefix(texts[0], "{"))
	p.checkLists(p.in, strict.Get(out, "structuredContent"))
	return false
}

// checkForm: valid JSON, within the limit, valid by the schema, the rest kept.
func (p *promise) checkForm(out []byte) {
	if err := strict.Check(out, strict.Limits{}); err != nil {
		p.Errorf("%s: %v in %s", p.name, err, out)
		return
	}
	structured := strict.Get(out, "structuredContent")
	if n := utf8.RuneCount(structured); n > p.limit {
		p.Errorf("%s: %d characters of structured content, limit %d", p.name, n, p.limit)
	}
	total := 0
	for _, b := range strict.Elements(strict.Get(out, "content")) {
		s, _ := strict.Text(strict.Get(b, "text"))
		total += utf8.RuneCountInString(s)
	}
	if total > p.limit {
		p.Errorf("%s: %d characters of text, limit %d", p.name, total, p.limit)
	}
	if p.good && !valid(p.oracle, structured) {
		p.Errorf("%s: broke the schema\n in %s\nout %s", p.name, p.in, structured)
	}
	if !bytes.Contains(out, []byte(picture)) || !bytes.Contains(out, []byte(`"other":9007199254740993`)) {
		p.Errorf("%s: something else changed: %s", p.name, out)
	}
	if bytes.Contains(out, []byte(secret)) {
		p.Errorf("%s: an internal field is left: %s", p.name, out)
	}
	if bytes.ContainsAny(structured, "\x1b\x07") || bytes.Contains(structured, []byte(`\u001b`)) {
		p.Errorf("%s: control characters left: %s", p.name, structured)
	}
}

// checkAgreement: the text that repeated the structured content still does.
func (p *promise) checkAgreement(out []byte, mirrored bool) {
	if !mirrored {
		return
	}
	s, _ := strict.Text(strict.At(out, "/content/0/text"))
	a, err := strict.Sum([]byte(s))
	b, err2 := strict.Sum(strict.Get(out, "structuredContent"))
	if err != nil || err2 != nil || a != b {
		p.Errorf("%s: text and structuredContent disagree:\n%s\n%s", p.name, s, strict.Get(out, "structuredContent"))
	}
}

// checkLists: every list that is left is a beginning of what it was, and not
// empty unless it was.
func (p *promise) checkLists(in, out []byte) {
	switch strict.KindOf(out) {
	case strict.Array:
		var before []strict.Raw
		for _, v := range strict.Elements(in) {
			before = append(before, v)
		}
		count := 0
		for i, v := range strict.Elements(out) {
			if count++; i >= len(before) {
				p.Errorf("%s: a list grew", p.name)
				return
			}
			p.checkLists(before[i], v)
		}
		if count == 0 && len(before) > 0 {
			p.Errorf("%s: a list lost all its items: %s", p.name, in)
		}
	case strict.Object:
		for name, v := range strict.Members(out) {
			if old := strict.Get(in, name); old != nil {
				p.checkLists(old, v)
			}
		}
	}
}
