package cli

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary/internal/api"
	"github.com/annotary/annotary/internal/config"
)

// configFlag says which gateway is meant: the one of this configuration.
func configFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "config", "", "the configuration the gateway runs with (default: annotary.yaml here or in your configuration folder, else whichever runs with your data folder)")
}

// gatewayFlags say which gateway is meant: the one of a configuration here, or
// one of another machine by its URL. Both end in where.
func gatewayFlags(cmd *cobra.Command, where *string) {
	configFlag(cmd, where)
	cmd.Flags().StringVar(where, "gateway", "", "the URL of a gateway's operator channel (or "+envGateway+"); the token is in "+envToken)
	cmd.MarkFlagsMutuallyExclusive("config", "gateway")
}

// loadData reads where the gateway of a configuration keeps its data. If no
// configuration is found, the gateway of the usual folder is meant, if there ever
// was one: it may run with the file of a client, which stands anywhere.
func loadData(path string) (*config.Config, error) {
	_, cfg, err := loadBy(config.LoadData, path)
	if path == "" && errors.Is(err, fs.ErrNotExist) {
		usual := config.Default()
		if _, err := os.Stat(usual.Data.Value()); err == nil {
			return usual, nil
		}
	}
	return cfg, err
}

// operatorOf reaches a gateway: that of a URL, or the one that runs here with
// this configuration.
func operatorOf(where string) (*api.Client, error) {
	if where == "" {
		where = os.Getenv(envGateway)
	}
	if strings.HasPrefix(where, "http://") || strings.HasPrefix(where, "https://") {
		return remoteOperator(where)
	}
	cfg, err := loadData(where)
	if where == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, api.NotRunning(err) // there never was one
	}
	if err != nil {
		return nil, err
	}
	home, err := openHome(cfg)
	if err != nil {
		return nil, err
	}
	return api.NewClient(func() (net.Conn, error) { return home.dial(operatorSocket) }, home.token), nil
}
