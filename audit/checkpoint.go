package audit

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/annotary/annotary"
)

// A Hash is a hash of the tree.
type Hash = tlog.Hash

// LeafHash is the hash of an entry's line in the tree.
func LeafHash(line []byte) Hash { return tlog.RecordHash(line) }

// A Checkpoint says what the log was at one moment: how many entries, and the
// root of the tree over them. Its text is the checkpoint form of C2SP
// (tlog-checkpoint), signed as a note.
type Checkpoint struct {
	Origin string // which log
	Size   int64
	Root   Hash
}

// Text writes the checkpoint without signatures.
func (c Checkpoint) Text() string {
	return fmt.Sprintf("%s\n%d\n%s\n", c.Origin, c.Size, base64.StdEncoding.EncodeToString(c.Root[:]))
}

// Sign writes the checkpoint with the signatures of the given keys.
func (c Checkpoint) Sign(keys ...Key) ([]byte, error) {
	signers := make([]note.Signer, len(keys))
	for i, k := range keys {
		signers[i] = k.signer
	}
	return note.Sign(&note.Note{Text: c.Text()}, signers...)
}

// A Key signs checkpoints.
type Key struct {
	signer note.Signer
	public string
}

// NewKey makes a key with the given name. The secret is what ParseKey reads.
func NewKey(name string) (secret string, err error) {
	secret, public, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		return "", fmt.Errorf("making a key: %w", err)
	}
	return secret + "\n" + public, nil
}

// ParseKey reads what NewKey wrote.
func ParseKey(secret string) (Key, error) {
	private, public, ok := strings.Cut(strings.TrimSpace(secret), "\n")
	if !ok {
		return Key{}, annotary.E(annotary.CodeInvalid, "the key of the log has no public half", nil)
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		return Key{}, annotary.E(annotary.CodeInvalid, "the key of the log cannot be read", err)
	}
	return Key{signer, public}, nil
}

// Name returns the key's name.
func (k Key) Name() string { return k.signer.Name() }

// Public returns the key that verifies what this one signs.
func (k Key) Public() string { return k.public }

// OpenCheckpoint reads a signed checkpoint. It must carry a good signature of
// one of the public keys.
func OpenCheckpoint(signed []byte, publicKeys ...string) (Checkpoint, error) {
	var verifiers []note.Verifier
	seen := map[string]bool{} // a key that is named twice is one
	for _, k := range publicKeys {
		if k = strings.TrimSpace(k); seen[k] {
			continue
		}
		seen[k] = true
		v, err := note.NewVerifier(k)
		if err != nil {
			return Checkpoint{}, annotary.E(annotary.CodeInvalid, "a public key cannot be read: "+err.Error(), err)
		}
		verifiers = append(verifiers, v)
	}
	n, err := note.Open(signed, note.VerifierList(verifiers...))
	if err != nil {
		return Checkpoint{}, annotary.E(annotary.CodeForged, "a checkpoint has no good signature of a known key", err)
	}
	return parseCheckpoint(n.Text)
}

func parseCheckpoint(text string) (Checkpoint, error) {
	bad := func(cause error) (Checkpoint, error) {
		return Checkpoint{}, annotary.E(annotary.CodeInvalid, "a checkpoint cannot be read", cause)
	}
	lines := strings.SplitN(text, "\n", 4)
	if len(lines) < 4 || lines[0] == "" {
		return bad(errors.New("it has fewer than three lines"))
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 0 || strconv.FormatInt(size, 10) != lines[1] {
		return bad(fmt.Errorf("size %q", lines[1]))
	}
	root, err := tlog.ParseHash(lines[2])
	if err != nil {
		return bad(err)
	}
	return Checkpoint{Origin: lines[0], Size: size, Root: root}, nil
}

// SplitNotes splits a file of signed checkpoints, one after another.
func SplitNotes(file []byte) [][]byte {
	var notes [][]byte
	var current []byte
	signed := false
	for line := range bytes.Lines(file) {
		isSignature := bytes.HasPrefix(line, []byte("\u2014 "))
		if signed && !isSignature { // the next note begins
			notes, current, signed = append(notes, current), nil, false
		}
		if len(current) == 0 && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		current = append(current, line...)
		signed = signed || isSignature
	}
	if len(current) > 0 {
		notes = append(notes, current)
	}
	return notes
}
