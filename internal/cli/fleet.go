package cli

import (
	"context"
	"os"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/api"
	"github.com/annotary/annotary/internal/config"
	"github.com/annotary/annotary/internal/identity"
)

// serveFleet answers operators of other machines, if the configuration says
// where.
func (d *daemon) serveFleet(ctx context.Context) error {
	address := d.config().Operator.Listen
	if address == "" {
		return nil
	}
	l, err := listenAt(address, d.config())
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.operatorAt = l.Addr()
	d.operators.Store(operatorIdentity(d.cfg, l.Addr().String()))
	d.mu.Unlock()
	door := api.Door{Identity: d.operators.Load, MayAct: d.gateway.MayAct}
	d.log.Info("operators are answered", "listen", l.Addr(), "url", d.config().BaseURL(d.config().Operator.PublicURL, l.Addr().String()))
	go func() {
		if err := api.ServeFleet(ctx, l, d.operatorOptions(), door); err != nil {
			d.log.Error("the gateway no longer answers operators", "error", err)
		}
	}()
	return nil
}

// operatorIdentity is who may ask on the operator's channel: whoever may call,
// with a token that is meant for it.
func operatorIdentity(c *config.Config, at string) *identity.Identity {
	return identity.New(identityOptions(c, c.BaseURL(c.Operator.PublicURL, at)))
}

// The variables that say which gateway of another machine is meant, and show it
// who asks.
const (
	envGateway = "ANNOTARY_GATEWAY"
	envToken   = "ANNOTARY_TOKEN"
)

// remoteOperator reaches a gateway of another machine.
func remoteOperator(url string) (*api.Client, error) {
	if err := identity.Safe(url); err != nil {
		return nil, annotary.E(annotary.CodeUsage, "the token would travel in the clear: "+err.Error(), err).
			WithHint("write https:// and a host")
	}
	return api.NewRemoteClient(url, os.Getenv(envToken)), nil
}
