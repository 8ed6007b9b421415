package lint_test
import ("testing";"os";"strings";"github.com/annotary/annotary/lint";"fmt")
func TestDump(t *testing.T){
 want := os.Getenv("DUMP"); prof:=lint.Spec
 if os.Getenv("PROF")=="anthropic" {prof=lint.Anthropic}
 for _, tools := range corpus(t) { for _, f := range lint.Check(tools, lint.Options{Profile:prof}).Findings { if strings.HasPrefix(f.Rule,want) { fmt.Printf("%s | %s | %s | %s | %q\n", f.Rule, f.Tool, f.Message, f.Evidence, tools[max(0,f.Index)].Description[:min(len(tools[max(0,f.Index)].Description),110)]) } } }
}
