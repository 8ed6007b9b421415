package config

import (
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

// Audit says what is recorded of calls, and what becomes of it. It matters only
// where calls are judged.
type Audit struct {
	// Arguments has the arguments of calls recorded, with the secrets in them
	// hidden. If false, only their digest is.
	Arguments bool `yaml:"arguments"`
	// Keep is how long entries are kept, like 2160h. Older ones are dropped
	// once they are sealed and every export has them; their hashes stay, so
	// what is left still verifies. If left out, for ever.
	Keep Duration `yaml:"keep"`
	// Max is how large the log may grow. When it is full, calls are refused.
	// If left out, as large as the disk allows.
	Max Size `yaml:"max"`
	// Key is the file of the secret key that signs checkpoints; its public
	// half is in the file beside it that ends in .pub. It is made at the first
	// start. All gateways of a fleet need the same. If left out, audit.key in
	// the data folder.
	Key Text `yaml:"key"`
	// Checkpoints is a file outside the store that every checkpoint is
	// appended to. Put it where whoever can write the store cannot write. If
	// left out, checkpoints.txt in the data folder.
	Checkpoints Text `yaml:"checkpoints"`
	// Webhook is an address that every checkpoint is posted to, as text.
	Webhook Text `yaml:"webhook"`
	// Export copies every entry to other places, by a name of your choice.
	Export map[string]Export `yaml:"export"`
}

// Export is one place that every entry is copied to, exactly once.
type Export struct {
	// File is a file that entries are appended to, one on a line. Exactly one
	// of file and postgres is set.
	File Text `yaml:"file"`
	// Format of the file: jsonl, the entries as they stand in the log, or
	// ocsf, events of the Open Cybersecurity Schema Framework.
	Format ExportFormat `yaml:"format" default:"jsonl"`
	// Postgres is the connection string of a PostgreSQL database.
	Postgres Secret `yaml:"postgres"`
	// Table is the table in that database. It is made if it is not there.
	Table string `yaml:"table" default:"annotary_audit"`
}

// ExportFormat is how a file writes entries.
type ExportFormat string

// The formats there are.
const (
	JSONL ExportFormat = "jsonl"
	OCSF  ExportFormat = "ocsf"
)

// UnmarshalText reads a format.
func (f *ExportFormat) UnmarshalText(text []byte) error {
	return word(f, text, JSONL, OCSF)
}

// StoreLoss says what happens to calls while the store is lost.
type StoreLoss string

// What can happen to them.
const (
	Refuse     StoreLoss = "refuse"
	AllowReads StoreLoss = "allow-reads"
)

// UnmarshalText reads what is to happen.
func (l *StoreLoss) UnmarshalText(text []byte) error {
	return word(l, text, Refuse, AllowReads)
}

func (d *decoder) checkAudit(a *Audit, root *yaml.Node) {
	if a.Webhook.written != "" {
		d.checkURL(root, []string{"audit", "webhook"}, a.Webhook)
	}
	for name, e := range a.Export {
		file, database := e.File.written != "", e.Postgres.text.written != ""
		if file == database {
			d.at(root, []string{"audit", "export", name}, "give it one of them", "audit.export.%s needs either a file or postgres", name)
		}
		if !isTable(e.Table) {
			d.at(root, []string{"audit", "export", name, "table"}, "use letters, digits and _", "audit.export.%s.table cannot be the name of a table: %q", name, e.Table)
		}
	}
}

func isTable(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != "" && len(name) <= 50
}

// settleAudit makes the paths of the log absolute. Those that are left out are
// in the data folder.
func (c *Config) settleAudit(dir string) error {
	var err error
	place := func(t *Text, inData string) {
		switch {
		case err != nil:
		case t.value != "":
			t.value, err = absolute(dir, t.value)
		case inData != "":
			t.value = filepath.Join(c.Data.value, inData)
		}
	}
	place(&c.Audit.Key, "audit.key")
	place(&c.Audit.Checkpoints, "checkpoints.txt")
	for name, e := range c.Audit.Export {
		place(&e.File, "")
		c.Audit.Export[name] = e
	}
	return err
}
