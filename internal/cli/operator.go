package cli

import (
	"net"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary/internal/api"
	"github.com/annotary/annotary/internal/config"
)

// configFlag says which gateway is meant: the one of this configuration.
func configFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "config", "", "the configuration the gateway runs with\n(default: annotary.yaml here or in your configuration folder)")
}

// operatorOf reaches the gateway that runs with this configuration.
func operatorOf(path string) (*api.Client, error) {
	_, cfg, err := loadBy(config.LoadData, path)
	if err != nil {
		return nil, err
	}
	home, err := openHome(cfg)
	if err != nil {
		return nil, err
	}
	return api.NewClient(func() (net.Conn, error) { return home.dial(operatorSocket) }, home.token), nil
}
