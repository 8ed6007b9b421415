package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/config"
	"github.com/annotary/annotary/internal/confine"
)

// raiseWalls makes the data folder and finds out how commands can be kept out of
// it. From then on nobody else may look into this process.
func raiseWalls(c *config.Config) (*confine.Walls, error) {
	home, err := openHome(c)
	if err != nil {
		return nil, err
	}
	walls, err := confine.Around(home.dir)
	if err == nil {
		err = confine.Undumpable()
	}
	if err != nil {
		return nil, annotary.E(annotary.CodeInternal, "the gateway cannot be kept apart from its servers", err).
			WithHint("is the data folder " + home.dir + " writable?")
	}
	return walls, nil
}

// sayWalls tells the operator which protection holds, and for whom none does.
func (d *daemon) sayWalls() {
	c := d.config()
	if d.walls.By == confine.Neither {
		d.log.Warn("commands can reach the data folder, and with it the keys of this gateway: the system has no way to keep them out",
			"data", c.Data.Value(), "tried", d.walls.Missing)
		return
	}
	d.log.Info("commands are kept out of the data folder", "by", d.walls.By)
	if disks() {
		d.log.Warn("this gateway runs as root and so do its commands: they could read the folder from the disk's device")
	}
	if within(c.Data.Value(), d.path) {
		d.log.Warn("the configuration lies in the data folder: commands find that folder empty, with all you keep in it", "data", c.Data.Value())
	}
	for name, s := range c.Servers {
		if s.Confine == config.Off && s.Command.Value() != "" {
			d.log.Warn("this server can reach the data folder: confine is off", "server", name)
		}
	}
}

// disks reports whether this user can read disks past their files.
func disks() bool {
	entries, err := os.ReadDir("/dev")
	if err != nil || os.Geteuid() != 0 {
		return false
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.Type()&fs.ModeDevice != 0 && e.Type()&fs.ModeCharDevice == 0
	})
}

// within reports whether a path lies in a folder.
func within(folder, path string) bool {
	abs, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(folder, abs)
	return err == nil && filepath.IsLocal(rel)
}
