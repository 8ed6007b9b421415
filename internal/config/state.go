package config

import (
	"net/url"
	"strings"

	"go.yaml.in/yaml/v3"
)

// State says where the gateway keeps what must survive it. Without a URL that
// is the folder "state" below the data folder, and no server is needed; with
// one it is a NATS cluster that several gateways share.
type State struct {
	// URL names the servers of a cluster, separated by commas, like
	// tls://a:4222,tls://b:4222. They need NATS 2.15 or newer with JetStream
	// and sync_interval: always.
	URL Text `yaml:"url"`
	// Credentials is a NATS credentials file. A relative path starts at the
	// folder of this file, here and in the next three.
	Credentials Text `yaml:"credentials"`
	// CA is a PEM file with the authorities that may vouch for the servers, in
	// place of those of the operating system.
	CA Text `yaml:"ca"`
	// Cert is a PEM file with the certificate this gateway shows them.
	Cert Text `yaml:"cert"`
	// Key is a PEM file with the key of that certificate.
	Key Text `yaml:"key"`
	// Replicas is on how many servers of the cluster everything is kept: 1, 3
	// or 5.
	Replicas int `yaml:"replicas" default:"3"`
	// Timeout is how long the store may take over one operation. Then what
	// waited for it is refused.
	Timeout Duration `yaml:"timeout" default:"5s"`
}

// Shared reports whether state is kept in a cluster that other gateways share.
func (s *State) Shared() bool { return s.URL.Value() != "" }

// paths are the values that name files.
func (s *State) paths() []*Text { return []*Text{&s.Credentials, &s.CA, &s.Cert, &s.Key} }

func (d *decoder) checkState(s *State, root *yaml.Node) {
	at := func(key, hint, format string, args ...any) {
		d.at(root, []string{"state", key}, hint, format, args...)
	}
	if !s.Shared() {
		for key, v := range map[string]Text{"credentials": s.Credentials, "ca": s.CA, "cert": s.Cert, "key": s.Key} {
			if v.written != "" {
				at(key, "remove it", "state.%s means something only with state.url", key)
			}
		}
		return
	}
	for one := range strings.SplitSeq(s.URL.Value(), ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		switch {
		case err != nil || u.Host == "" || (u.Scheme != "nats" && u.Scheme != "tls"):
			at("url", "write nats:// or tls:// and a host", "state.url names no server: %q", s.URL)
		case u.User != nil:
			at("url", "put them into a file and name it in state.credentials", "state.url holds credentials")
		}
	}
	if (s.Cert.written == "") != (s.Key.written == "") {
		at("cert", "name both, or neither", "state.cert and state.key go together")
	}
	if s.Replicas != 1 && s.Replicas != 3 && s.Replicas != 5 {
		at("replicas", "3 is usual", "state.replicas must be 1, 3 or 5")
	}
}
