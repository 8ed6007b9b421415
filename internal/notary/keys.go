package notary

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
)

// Keys sign checkpoints and check them.
type Keys struct {
	// Signing are those that sign, newest first. After a change of keys the
	// last one still signs beside the new one, so that who has only its public
	// half is not cut off.
	Signing []audit.Key
	// Trusted are the public halves of all that have ever signed.
	Trusted []string
}

// Origin names the log: all its keys bear this name.
func (k *Keys) Origin() string { return k.Signing[0].Name() }

// A KeyFile keeps the keys: the secret ones in the file, which only its owner
// may read, the public ones in a file beside it that ends in .pub.
type KeyFile string

// Public returns the path of the public keys.
func (f KeyFile) Public() string {
	return strings.TrimSuffix(string(f), filepath.Ext(string(f))) + ".pub"
}

// Make makes the first key if there is none. Where the public keys of a log that
// was put back are there, the new one bears their name: the log goes on.
func (f KeyFile) Make() error {
	_, err := os.Stat(string(f))
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	name := "annotary-log-" + strings.ToLower(rand.Text()[:10])
	if public, err := os.ReadFile(f.Public()); err == nil {
		if known, _, ok := strings.Cut(string(public), "+"); ok {
			name = known
		}
	}
	return f.add(name, nil)
}

// Rotate puts a new key first. The one before signs beside it until the next
// change, unless it is to be forgotten at once.
func (f KeyFile) Rotate(forget bool) error {
	secrets, err := f.secrets()
	if err != nil {
		return err
	}
	last, err := audit.ParseKey(secrets[0])
	if err != nil {
		return err
	}
	if secrets = secrets[:1]; forget {
		secrets = nil
	}
	return f.add(last.Name(), secrets)
}

// add writes a new key before those that stay. The public half comes first: no
// checkpoint may bear a signature that nobody can check.
func (f KeyFile) add(name string, stay []string) error {
	secret, err := audit.NewKey(name)
	if err != nil {
		return err
	}
	key, err := audit.ParseKey(secret)
	if err != nil {
		return err
	}
	known, err := os.ReadFile(f.Public())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return keyError("the public keys of the log cannot be read", err)
	}
	if err := writeWhole(f.Public(), key.Public()+"\n"+string(known), 0o644); err != nil {
		return keyError("the public key of the log cannot be written", err)
	}
	if err := writeWhole(string(f), strings.Join(slices.Concat([]string{secret}, stay), "\n\n")+"\n", 0o600); err != nil {
		return keyError("the key of the log cannot be written", err)
	}
	return nil
}

// secrets reads the secret keys, newest first.
func (f KeyFile) secrets() ([]string, error) {
	text, err := os.ReadFile(string(f))
	if err != nil {
		return nil, keyError("the key of the log cannot be read: "+err.Error(), err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n\n"), nil
}

// Read reads the keys.
func (f KeyFile) Read() (Keys, error) {
	secrets, err := f.secrets()
	if err != nil {
		return Keys{}, err
	}
	var k Keys
	for _, s := range secrets {
		key, err := audit.ParseKey(s)
		if err != nil {
			return Keys{}, annotary.E(annotary.CodeConfig, "the key of the log in "+string(f)+" is damaged: "+err.Error(), err).
				WithHint("put a copy of the file back; without one, move it away, and a new key takes its place")
		}
		k.Signing, k.Trusted = append(k.Signing, key), append(k.Trusted, key.Public())
	}
	public, err := os.ReadFile(f.Public())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Keys{}, keyError("the public keys of the log cannot be read", err)
	}
	k.Trusted = append(k.Trusted, strings.Fields(string(public))...)
	return k, nil
}

func keyError(public string, cause error) error {
	return annotary.E(annotary.CodeConfig, public, cause).WithHint("audit.key names the file; only its owner may read it")
}

// writeWhole replaces a file as one: who reads it sees the old or the new.
func writeWhole(path, text string, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
