package cli

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/api"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/config"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/jetstream"
	"github.com/annotary/annotary/internal/override"
)

// openWords opens the operator's word in a store that several gateways share,
// and waits until it is known: a gateway that has not heard what others were told
// must not judge. Said gets a value when more is said.
func (l *ledger) openWords(ctx context.Context, c *config.Config, said chan<- struct{}) error {
	bucket, _, err := l.engine.Bucket(ctx, "overrides", jetstream.BucketOptions{})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	others := l.stop
	l.stop = func() { others(); stop() }
	l.words = override.New(bucket, func() {
		select {
		case said <- struct{}{}:
		default: // it is known that something was said
		}
	})
	l.done.Go(func() { l.words.Run(ctx) })
	select {
	case <-l.words.Ready():
		return nil
	case <-time.After(c.State.Timeout.D()):
		return annotary.E(annotary.CodeStore, "the overrides in the state store cannot be read", nil).
			WithHint("see 'annotary state status' on another gateway, or the log of the cluster")
	}
}

// heedWords judges by what was said, as soon as it is, until the context ends.
func (d *daemon) heedWords(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.said:
			if err := d.rejudge(); err != nil {
				d.log.Error("what was said of a tool cannot be used; what held before holds", "error", err)
			}
		}
	}
}

// rejudge makes the judge anew from the configuration in force and what was said
// since, and tells clients that tools may not be as listed.
func (d *daemon) rejudge() error {
	d.changing.Lock()
	defer d.changing.Unlock()
	judge, err := d.judge(d.cfg)
	if err != nil || judge == nil {
		return err
	}
	names := slices.Collect(maps.Keys(d.gateway.Servers()))
	if d.judged != nil {
		if err := judge.Inherit(d.judged, names); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.judged = judge
	d.gateway.Use(judge)
	d.gateway.Announce(names...)
	return nil
}

// heed adds what was said while gateways ran. The configuration wins.
func heed(stances map[string]catalog.Stance, servers map[string]config.Server, words []override.Word) {
	for _, w := range words {
		stance, ok := stances[w.Server]
		if !ok {
			continue
		}
		switch {
		case w.Tool != "":
			stance.Said = append(stance.Said, overrideOf(&w))
		case servers[w.Server].BelieveHints == nil:
			stance.Believe = *w.Believe
		}
		stances[w.Server] = stance
	}
}

// overrideOf is a word as the catalogue has it.
func overrideOf(w *override.Word) catalog.Override {
	o := catalog.Override{Tools: w.Tool, Hints: map[annotary.HintName]bool{}, Reason: w.Reason, At: w.Position()}
	for name, v := range w.Hints {
		if n, ok := annotary.ParseHintName(name); ok {
			o.Hints[n] = v
		}
	}
	return o
}

// Overrides are the operator's words in force: those of the configuration, then
// those of the store.
func (d *daemon) Overrides() api.Overrides {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := api.Overrides{Shared: d.ledger != nil && d.ledger.words != nil, Overrides: writtenWords(d.cfg, filepath.Base(d.path))}
	if !out.Shared {
		return out
	}
	for _, w := range d.ledger.words.Words() {
		out.Overrides = append(out.Overrides, api.Override{
			Server: w.Server, Tools: w.Tool, Hints: w.Hints, Believe: w.Believe, Reason: w.Reason,
			Home: w.Position().File, Stored: true, By: w.By, At: w.At,
		})
	}
	return out
}

// writtenWords are those of the configuration.
func writtenWords(c *config.Config, file string) []api.Override {
	words := []api.Override{}
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		s := c.Servers[name]
		if s.BelieveHints != nil {
			words = append(words, api.Override{Server: name, Believe: s.BelieveHints, Home: file})
		}
		for _, tools := range slices.Sorted(maps.Keys(s.Overrides)) {
			o := s.Overrides[tools]
			w := api.Override{Server: name, Tools: tools, Hints: map[string]bool{}, Reason: o.Reason, Until: o.Until.String(), Home: o.Position().String()}
			for n, v := range o.Hints() {
				w.Hints[n.String()] = v
			}
			words = append(words, w)
		}
	}
	return words
}

// Say writes down what the operator says of tools, in the store. What the
// configuration speaks of is not to be said here.
func (d *daemon) Say(ctx context.Context, by string, words []override.Word) error {
	d.mu.Lock()
	c, l := d.cfg, d.ledger
	d.mu.Unlock()
	if l == nil || l.words == nil {
		return annotary.E(annotary.CodeConfig, "this gateway has its overrides in its configuration", nil).
			WithHint("write them there; 'annotary accept' does")
	}
	now := time.Now()
	for i := range words {
		words[i].By, words[i].At = by, now
		if err := mayBeSaid(c, &words[i], now); err != nil {
			return err
		}
	}
	return l.words.Say(ctx, words...)
}

// mayBeSaid refuses a word that would not count.
func mayBeSaid(c *config.Config, w *override.Word, now time.Time) error {
	s, ok := c.Servers[w.Server]
	if !ok {
		return annotary.E(gateway.CodeUnknownServer, "there is no server "+w.Server, nil).
			WithHint("name one of the configuration")
	}
	if w.Withdrawn {
		return nil
	}
	if w.Tool == "" {
		if s.BelieveHints != nil {
			return overruled(w.Server, "believe_hints")
		}
		return nil
	}
	stance, said := stanceOf(s), overrideOf(w)
	if o := stance.Overruled(&said, now); o != nil {
		return overruled(w.Server+"/"+w.Tool, o.At.String())
	}
	return nil
}

func overruled(what, by string) error {
	return annotary.E(annotary.CodeConfig, fmt.Sprintf("the configuration speaks of %s already (%s), and it wins", what, by), nil).
		WithHint("change it there")
}
