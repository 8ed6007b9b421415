package derive

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// An Operation is one operation of an OpenAPI document, as the tool a
// generated MCP server makes of it.
type Operation struct {
	Name   string // operationId, else made of method and path
	Method string // upper case
	Path   string
	Claims Claims
	Flags  []Flag
}

// A Flag is something about an operation that a person should look at.
type Flag struct {
	Code string `json:"code"`
	Why  string `json:"why"`
}

// The codes of flags.
const (
	FlagSideEffect    = "get-with-side-effect"    // a GET that seems to do more than read
	FlagContradiction = "declared-against-method" // x-mcp-annotations say what the method denies
	FlagWrongType     = "annotation-wrong-type"   // a member of x-mcp-annotations is no boolean
	FlagDuplicate     = "duplicate-name"          // two operations make tools of one name
)

// methods are the operations a path may have.
var methods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

// IsOpenAPI reports whether the document is an OpenAPI or Swagger document, in
// JSON or YAML.
func IsOpenAPI(doc []byte) bool {
	root, err := jsonDocument(doc)
	return err == nil && version(root) != ""
}

// version returns what an OpenAPI document says it is, or "".
func version(root strict.Raw) string {
	for _, key := range []string{"openapi", "swagger"} {
		if v, ok := strict.Text(strict.Get(root, key)); ok {
			return v
		}
	}
	return ""
}

// OpenAPI derives claims for every operation of an OpenAPI 3.0, 3.1 or Swagger
// 2.0 document, in its order. Per hint the first that speaks decides: the
// overrides, x-mcp-annotations of the operation, those of its path, the HTTP
// method. Overrides may be nil; they are kept apart from the document, so that
// they survive when it is generated again.
func OpenAPI(doc, overrides []byte) ([]Operation, error) {
	root, err := jsonDocument(doc)
	if err != nil {
		return nil, annotary.E(annotary.CodeInvalid, "the OpenAPI document cannot be read: "+err.Error(), err)
	}
	switch v := version(root); {
	case v == "":
		return nil, annotary.E(annotary.CodeInvalid, "it is no OpenAPI document: it says neither openapi nor swagger", nil)
	case v != "2.0" && !strings.HasPrefix(v, "3."):
		return nil, annotary.E(annotary.CodeInvalid, fmt.Sprintf("OpenAPI version %q is not known", v), nil).
			WithHint("OpenAPI 3.0, 3.1 and Swagger 2.0 are read")
	}
	over, err := parseOverrides(overrides)
	if err != nil {
		return nil, err
	}
	endpoints := (&api{root: root, sections: map[string]map[string]strict.Raw{}}).endpoints()
	operations := make([]Operation, len(endpoints))
	for i, claims := range Tools(toolsOf(endpoints)) {
		operations[i] = endpoints[i].operation(claims, over)
	}
	flagDuplicates(operations)
	return operations, over.unused()
}

// An endpoint is an operation as the document has it.
type endpoint struct {
	tool         annotary.Tool
	method, path string
	inputs       []input
	summary      string
	onPath       strict.Raw // x-mcp-annotations of the path
	own          strict.Raw // x-mcp-annotations of the operation
}

// An input is one parameter of an operation, or one member of its body.
type input struct {
	name, in string
	schema   strict.Raw
}

// An api is a document with what its references point to. A section, such as
// all shared parameters, is walked once and remembered: documents have tens of
// megabytes and thousands of references.
type api struct {
	root     strict.Raw
	sections map[string]map[string]strict.Raw
}

func (a *api) endpoints() []endpoint {
	var all []endpoint
	for path, item := range strict.Members(strict.Get(a.root, "paths")) {
		item = a.follow(item)
		for method, op := range strict.Members(item) {
			if slices.Contains(methods, method) && strict.KindOf(op) == strict.Object {
				all = append(all, a.endpoint(path, method, item, op))
			}
		}
	}
	return all
}

func (a *api) endpoint(path, method string, item, op strict.Raw) endpoint {
	e := endpoint{
		method: strings.ToUpper(method), path: path,
		onPath: strict.Get(item, "x-mcp-annotations"), own: strict.Get(op, "x-mcp-annotations"),
	}
	for _, list := range []strict.Raw{strict.Get(item, "parameters"), strict.Get(op, "parameters")} {
		for _, p := range strict.Elements(list) {
			e.inputs = append(e.inputs, a.parameter(a.follow(p))...)
		}
	}
	e.inputs = append(e.inputs, a.body(op)...)
	e.summary, _ = strict.Text(strict.Get(op, "summary"))
	e.tool.Name, _ = strict.Text(strict.Get(op, "operationId"))
	if e.tool.Name == "" {
		e.tool.Name = strings.Join(splitName(method+" "+path), "_")
	}
	e.tool.Description, _ = strict.Text(strict.Get(op, "description"))
	if e.tool.Description == "" {
		e.tool.Description = e.summary
	}
	e.tool.Input = e.inputSchema()
	return e
}

// follow returns what a local reference points to; anything else as it is. A
// reference to a reference is not followed twice.
func (a *api) follow(v strict.Raw) strict.Raw {
	ref, _ := strict.Text(strict.Get(v, "$ref"))
	cut := strings.LastIndexByte(ref, '/')
	if cut < 0 || !strings.HasPrefix(ref, "#/") {
		return v
	}
	section, known := a.sections[ref[:cut]]
	if !known {
		section = maps.Collect(strict.Members(strict.At(a.root, ref[1:cut])))
		a.sections[ref[:cut]] = section
	}
	return section[strict.UnescapePointer(ref[cut+1:])]
}

// parameter returns the inputs a parameter stands for.
func (a *api) parameter(p strict.Raw) []input {
	name, _ := strict.Text(strict.Get(p, "name"))
	in, _ := strict.Text(strict.Get(p, "in"))
	switch schema := strict.Get(p, "schema"); {
	case in == "body": // Swagger 2.0
		return a.properties(schema)
	case name == "":
		return nil
	case schema == nil: // Swagger 2.0 writes the type beside the name
		return []input{{name, in, p}}
	default:
		return []input{{name, in, schema}}
	}
}

// body returns the members of an operation's body. Of several media types the
// first stands for all.
func (a *api) body(op strict.Raw) []input {
	for _, media := range strict.Members(strict.Get(a.follow(strict.Get(op, "requestBody")), "content")) {
		return a.properties(strict.Get(media, "schema"))
	}
	return nil
}

func (a *api) properties(schema strict.Raw) []input {
	var inputs []input
	for name, s := range strict.Members(strict.Get(a.follow(schema), "properties")) {
		inputs = append(inputs, input{name, "body", s})
	}
	return inputs
}

// inputSchema makes the schema of the tool's arguments. Of two inputs of one
// name the first counts.
func (e *endpoint) inputSchema() strict.Raw {
	var out bytes.Buffer
	seen := map[string]bool{}
	for _, p := range e.inputs {
		if seen[p.name] {
			continue
		}
		if len(seen) > 0 {
			out.WriteByte(',')
		}
		seen[p.name] = true
		fmt.Fprintf(&out, "%s:%s", strict.Quote(p.name), p.schema)
	}
	return []byte(`{"type":"object","properties":{` + out.String() + `}}`)
}

func toolsOf(endpoints []endpoint) []annotary.Tool {
	tools := make([]annotary.Tool, len(endpoints))
	for i := range endpoints {
		tools[i] = endpoints[i].tool
	}
	return tools
}

// operation makes the claims of an endpoint. What its method says about the
// three hints of reading and writing is put over what was derived from its
// words; the other five stay, but that an API stays on this machine is never
// read off a word such as file.
func (e *endpoint) operation(words Claims, over *overrides) Operation {
	for _, n := range []annotary.HintName{annotary.OpenWorld, annotary.Egress} {
		if words[n].Value == n.Safe() {
			words.say(n, annotary.Unknown, 0, "the document does not say what the API reaches")
		}
	}
	op := Operation{Name: e.tool.Name, Method: e.method, Path: e.path, Claims: words}
	e.judgeMethod(&op, words)
	byMethod := op.Claims
	e.declare(&op, e.onPath, "of its path")
	e.declare(&op, e.own, "of the operation")
	op.flagContradictions(byMethod)
	over.apply(&op)
	op.settle()
	op.settleReversible(words)
	return op
}

// declare puts in what x-mcp-annotations say.
func (e *endpoint) declare(op *Operation, annotations strict.Raw, where string) {
	for member, v := range strict.Members(annotations) {
		name, ok := hintOf(member)
		if !ok {
			continue
		}
		switch k := strict.KindOf(v); k {
		case strict.True, strict.False:
			op.Claims[name] = annotary.Claim{
				Hint: name, Value: annotary.ValueOf(k == strict.True), By: annotary.FromDeclared, Confidence: 1,
				Why: "x-mcp-annotations " + where + " say so",
			}
		default:
			op.flag(FlagWrongType, fmt.Sprintf("%s in x-mcp-annotations %s is %s, not true or false", member, where, k))
		}
	}
}

// hintOf returns the hint a member names, by its short name or MCP's.
func hintOf(member string) (annotary.HintName, bool) {
	for n := range annotary.HintName(annotary.NumHints) {
		if member == n.String() || member == n.Wire() && n.InSpec() {
			return n, true
		}
	}
	return 0, false
}

func (op *Operation) flag(code, why string) { op.Flags = append(op.Flags, Flag{code, why}) }

// flagContradictions names what was declared safe where the method says
// otherwise.
func (op *Operation) flagContradictions(byMethod Claims) {
	for _, n := range []annotary.HintName{annotary.ReadOnly, annotary.Destructive} {
		now, before := op.Claims[n], byMethod[n]
		if now.Value == n.Safe() && before.Value == n.Dangerous() {
			op.flag(FlagContradiction, fmt.Sprintf("%s is declared %s, but: %s", n, now.Value, before.Why))
		}
	}
}

// settle makes the hints agree where different parties spoke: the stronger one
// decides, and between equals the dangerous value.
func (op *Operation) settle() {
	readOnly, destructive := &op.Claims[annotary.ReadOnly], op.Claims[annotary.Destructive]
	if readOnly.Value != annotary.Yes {
		return
	}
	if destructive.Value == annotary.Yes && strength(destructive.By) >= strength(readOnly.By) {
		*readOnly = destructive
		readOnly.Hint, readOnly.Value, readOnly.Why = annotary.ReadOnly, annotary.No, "it is destructive: "+destructive.Why
		return
	}
	for _, n := range []annotary.HintName{annotary.Destructive, annotary.Idempotent} {
		if op.Claims[n].Value != n.Safe() {
			op.Claims[n] = *readOnly
			op.Claims[n].Hint, op.Claims[n].Value, op.Claims[n].Why = n, n.Safe(), "it is read-only: "+readOnly.Why
		}
	}
}

// settleReversible takes back what was derived for the way back while the
// operation's words, and not its method, said whether it only reads.
func (op *Operation) settleReversible(words Claims) {
	readOnly, way := op.Claims[annotary.ReadOnly], op.Claims[annotary.Reversible]
	switch {
	case way.By != annotary.FromDerived:
	case readOnly.Value == annotary.Yes:
		op.Claims.say(annotary.Reversible, annotary.Yes, readOnly.Confidence, "it is read-only, so there is nothing to take back")
	case words[annotary.ReadOnly].Value == annotary.Yes:
		op.Claims.say(annotary.Reversible, annotary.Unknown, 0, "nothing in the document says")
	}
}

// strength orders who may speak about an operation.
func strength(s annotary.Source) int {
	return slices.Index([]annotary.Source{annotary.FromDerived, annotary.FromDeclared, annotary.FromOperator}, s)
}

func flagDuplicates(operations []Operation) {
	first := map[string]string{}
	for i := range operations {
		op := &operations[i]
		if other, ok := first[op.Name]; ok {
			op.flag(FlagDuplicate, "it has the name of "+other)
			continue
		}
		first[op.Name] = op.Method + " " + op.Path
	}
}
