package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersionCmd(s *Streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: "  annotary version\n" +
			"  annotary version --json",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return runVersion(s.Out, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON, with what it was built with")
	return cmd
}

func runVersion(w io.Writer, asJSON bool) error {
	if !asJSON {
		_, err := fmt.Fprintln(w, version())
		return err
	}
	return printJSON(w, map[string]string{
		"version": version(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
	})
}

// version is what the Go toolchain stamped into the binary.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
