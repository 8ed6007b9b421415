package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
)

var shells = []string{"bash", "zsh", "fish", "powershell"}

// newCompletionCmd stands in for cobra's own, which is four commands with a
// page of text each.
func newCompletionCmd(s *Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the completion script for your shell",
		Long: "Completion prints a script that completes commands and flags. SHELL is bash, zsh,\n" +
			"fish or powershell. Load it for this session:\n\n" +
			"  bash        source <(annotary completion bash)   (with bash-completion)\n" +
			"  zsh         source <(annotary completion zsh)\n" +
			"  fish        annotary completion fish | source\n" +
			"  PowerShell  annotary completion powershell | Out-String | Invoke-Expression",
		Example: "  annotary completion bash\n" +
			"  annotary completion zsh",
		ValidArgs:             shells,
		DisableFlagsInUseLine: true,
		Args:                  usageArgs(cobra.ExactArgs(1)),
		RunE:                  func(cmd *cobra.Command, args []string) error { return runCompletion(s, cmd.Root(), args[0]) },
	}
}

func runCompletion(s *Streams, root *cobra.Command, shell string) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(s.Out, true)
	case "zsh":
		return root.GenZshCompletion(s.Out)
	case "fish":
		return root.GenFishCompletion(s.Out, true)
	case "powershell":
		return root.GenPowerShellCompletionWithDesc(s.Out)
	}
	return annotary.E(annotary.CodeUsage, fmt.Sprintf("unknown shell %q", shell), nil).
		WithHint("use bash, zsh, fish or powershell")
}
