package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/config"
	"github.com/annotary/annotary/internal/identity"
	"github.com/annotary/annotary/lint"
)

type keysOptions struct {
	streams *Streams
	config  string
	name    string
	key     config.APIKey
	until   string
	json    bool
}

func newKeysCmd(s *Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "keys",
		GroupID: groupRun,
		Short:   "Make, list and revoke the API keys of a gateway",
		Long: "Keys let programs and people of other machines call the gateway. The key itself\n" +
			"is shown once, when it is made; the configuration keeps its hash, and what calls\n" +
			"with it may do. A gateway that is running is told at once.",
		Example: "  annotary keys new ci --group builders --until 2027-01-31\n" +
			"  annotary keys list",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newKeysNewCmd(s), newKeysListCmd(s), newKeysRevokeCmd(s))
	return cmd
}

func newKeysNewCmd(s *Streams) *cobra.Command {
	o := &keysOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Make an API key and print it, this once",
		Long: "New makes an API key of 256 random bits, prints it, and writes its hash into the\n" +
			"configuration under identity.keys. A client sends it in the header\n" +
			"'Authorization: Bearer KEY'.",
		Example: "  annotary keys new ci --group builders --until 2027-01-31\n" +
			"  annotary keys new ann-laptop --subject ann --scope notes:write",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			if o.until != "" {
				if err := o.key.Until.UnmarshalText([]byte(o.until)); err != nil {
					return usageError(cmd, err)
				}
				if !time.Now().Before(o.key.Until.End()) {
					return usageError(cmd, fmt.Errorf("the key would never hold: %s is over", o.until))
				}
			}
			return runKeysNew(cmd.Context(), o)
		},
	}
	configFlag(cmd, &o.config)
	cmd.Flags().StringVar(&o.key.Subject, "subject", "", "whom calls are made for (default: the name of the key)")
	cmd.Flags().StringSliceVar(&o.key.Groups, "group", nil, "a group the subject is in; may be repeated")
	cmd.Flags().StringSliceVar(&o.key.Scopes, "scope", nil, "a scope the key has; may be repeated")
	cmd.Flags().StringVar(&o.until, "until", "", "the last day on which it holds, like 2027-01-31")
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

func newKeysListCmd(s *Streams) *cobra.Command {
	o := &keysOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the API keys of a configuration",
		Example: "  annotary keys list\n" +
			"  annotary keys list --json",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return runKeysList(o) },
	}
	configFlag(cmd, &o.config)
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

func newKeysRevokeCmd(s *Streams) *cobra.Command {
	o := &keysOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "revoke NAME",
		Short: "Let an API key hold no longer",
		Long: "Revoke marks a key as revoked in the configuration and has a running gateway\n" +
			"read it again. The name stays taken, so that the log stays clear.",
		Example: "  annotary keys revoke ci\n" +
			"  annotary keys revoke ci --config team.yaml",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			return runKeysRevoke(cmd.Context(), o)
		},
	}
	configFlag(cmd, &o.config)
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return cmd
}

func runKeysNew(ctx context.Context, o *keysOptions) error {
	path, cfg, err := loadConfig(o.config)
	if err != nil {
		return err
	}
	if _, taken := cfg.Identity.Keys[o.name]; taken {
		return annotary.E(annotary.CodeInvalid, "there is a key "+o.name+" already", nil).WithHint("choose another name")
	}
	key, hash := identity.NewKey()
	entry := map[string]any{"hash": hash.String()}
	if o.key.Subject != "" {
		entry["subject"] = o.key.Subject
	}
	if len(o.key.Groups) > 0 {
		entry["groups"] = o.key.Groups
	}
	if len(o.key.Scopes) > 0 {
		entry["scopes"] = o.key.Scopes
	}
	if o.until != "" {
		entry["until"] = o.until
	}
	if err := config.SetFile(path, config.Edit{Path: []string{"identity", "keys", o.name}, Value: entry}); err != nil {
		return err
	}
	fmt.Fprintln(o.streams.Err, "This is the only time the key is shown; the configuration has its hash.")
	o.tell(ctx)
	if !cfg.Identity.Asks() {
		fmt.Fprintln(o.streams.Err, "It is the first: from now on whoever calls must prove who they are.")
	}
	if o.json {
		return printJSON(o.streams.Out, map[string]string{"name": o.name, "key": key})
	}
	_, err = fmt.Fprintln(o.streams.Out, key)
	return err
}

// tell has a running gateway read the configuration again.
func (o *keysOptions) tell(ctx context.Context) {
	operator, err := operatorOf(o.config)
	if err == nil {
		defer operator.Close()
		err = operator.Reload(ctx)
	}
	switch {
	case annotary.CodeOf(err) == annotary.CodeConnect: // none is running
	case err != nil:
		fmt.Fprintln(o.streams.Err, "The gateway that is running did not take it:", err)
	default:
		fmt.Fprintln(o.streams.Err, "The gateway that is running knows it.")
	}
}

func runKeysRevoke(ctx context.Context, o *keysOptions) error {
	path, cfg, err := loadConfig(o.config)
	if err != nil {
		return err
	}
	if _, known := cfg.Identity.Keys[o.name]; !known {
		return annotary.E(annotary.CodeInvalid, "there is no key "+o.name, nil).WithHint("'annotary keys list' has them all")
	}
	if err := config.SetFile(path, config.Edit{Path: []string{"identity", "keys", o.name, "revoked"}, Value: true}); err != nil {
		return err
	}
	o.tell(ctx)
	if o.json {
		return printJSON(o.streams.Out, map[string]string{"name": o.name, "state": "revoked"})
	}
	_, err = fmt.Fprintln(o.streams.Out, "revoked "+o.name)
	return err
}

// A listedKey is a key as the list shows it.
type listedKey struct {
	Name    string   `json:"name"`
	Subject string   `json:"subject"`
	Groups  []string `json:"groups"`
	Scopes  []string `json:"scopes"`
	Until   string   `json:"until,omitempty"`
	State   string   `json:"state"` // holds, expired or revoked
}

// keyHolds is the state of a key that lets its holder in.
const keyHolds = "holds"

func runKeysList(o *keysOptions) error {
	_, cfg, err := loadConfig(o.config)
	if err != nil {
		return err
	}
	list := []listedKey{}
	for _, name := range slices.Sorted(maps.Keys(cfg.Identity.Keys)) {
		list = append(list, listKey(name, cfg.Identity.Keys[name], time.Now()))
	}
	if o.json {
		return printJSON(o.streams.Out, map[string]any{"keys": list})
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(o.streams.Out, "there are no API keys; make one with 'annotary keys new NAME'")
		return err
	}
	var rows [][]string
	for _, k := range list {
		rows = append(rows, []string{k.Name, k.Subject, strings.Join(k.Groups, ", "), strings.Join(k.Scopes, ", "), k.Until, k.State})
	}
	return writeTable(o.streams.Out, []string{"NAME", "SUBJECT", "GROUPS", "SCOPES", "UNTIL", "STATE"}, rows)
}

func listKey(name string, k config.APIKey, now time.Time) listedKey {
	l := listedKey{Name: lint.Printable(name), Subject: name, Groups: append([]string{}, k.Groups...), Scopes: append([]string{}, k.Scopes...), State: keyHolds}
	if k.Subject != "" {
		l.Subject = k.Subject
	}
	if end := k.Until.End(); !end.IsZero() {
		l.Until = end.AddDate(0, 0, -1).Format(time.DateOnly)
		if !now.Before(end) {
			l.State = "expired"
		}
	}
	if k.Revoked {
		l.State = "revoked"
	}
	return l
}
