package fleet

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/disk/files"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Locks are meant for git, and a variable's value may be a short password: a plain or salted hash
// could be guessed. So values are recorded as HMACs under a key that stays with the user. Anyone
// else can compare everything but the values, and Uncompared says so. The same key seals each entry.

const lockKeySize = 32

// lockKey reads the user's key and creates one if create is set. Without a key it returns nil.
func (f *Fleet) lockKey(make bool) ([]byte, error) {
	if f.Store.Dir == "" {
		return nil, nil
	}
	path := filepath.Join(filepath.Dir(f.Store.Dir), "lock.key")
	key, err := os.ReadFile(path)
	switch {
	case err == nil && len(key) == lockKeySize:
		return key, nil
	case err == nil:
		return nil, fmt.Errorf("%s is not a %d-byte key; delete the file and run: gauze lock", path, lockKeySize)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case !make:
		return nil, nil
	}
	return newLockKey(path)
}

func newLockKey(path string) ([]byte, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	key := make([]byte, lockKeySize)
	rand.Read(key) // never fails
	err := files.Create(path, key)
	if errors.Is(err, fs.ErrExist) { // another gauze created it first
		return os.ReadFile(path)
	}
	return key, err
}

// keyID identifies a key without revealing any of it.
func keyID(key []byte) string { return keyed(key, "gauze lock key")[:16] }

func keyed(key []byte, parts ...string) string {
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		fmt.Fprintf(mac, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// seal returns the HMAC of everything in a locked entry but the seal itself.
func (l Locked) seal(key []byte) string {
	l.Seal = ""
	text, _ := json.Marshal(l) // a Locked always encodes
	return keyed(key, "gauze lock entry", string(text))
}

// recorded reports whether this user recorded the entry exactly as it is: a lock file can come with a
// project, and an agent that can edit it can change every word of it.
func (f *Fleet) recorded(l Locked) bool {
	key, err := f.lockKey(false)
	return err == nil && key != nil && hmac.Equal([]byte(l.Seal), []byte(l.seal(key)))
}

// Recorded reports whether this user recorded all entries of a lock.
func (f *Fleet) Recorded(l Lock) bool {
	return !slices.ContainsFunc(l.Servers, func(was Locked) bool { return !f.recorded(was) })
}

// valueHashes returns the HMACs of everything in an entry that the lock does not show: values of
// variables, headers and fields that only the client uses, the query string, hidden arguments, the
// working directory, and the gauze run that wraps it.
func (s *Server) valueHashes(key []byte) map[string]string {
	if key == nil {
		return nil
	}
	all := map[string]string{}
	note := func(what, value string) { all[what] = keyed(key, s.ID(), string(s.Scope), what, value) }
	spec := s.Real()
	for name, value := range s.Config.Others(s.Entry) {
		note("field "+name, value)
	}
	if s.Wrapped {
		note(wrapperKey, strings.Join(s.wrapper(), "\x00"))
	}
	if u, err := url.Parse(spec.URL); err == nil && spec.URL != "" {
		if u.RawQuery != "" {
			note("query", u.RawQuery)
		}
		u.RawQuery = ""
		note("address", u.String())
		for _, h := range spec.Header {
			note("header "+h.Name, h.Value)
		}
		return all
	}
	note("command line", strings.Join(append([]string{spec.Command}, spec.Args...), "\x00"))
	if spec.Dir != "" {
		note("working directory", spec.Dir)
	}
	for _, name := range s.sets() {
		note("variable "+name, valueIn(spec, name))
	}
	return all
}

// valueIn returns a variable of a spec as the server receives it.
func valueIn(spec launch.Spec, name string) string {
	for _, pair := range spec.Env {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// wrapperKey is the name under which gauze run and its flags are recorded.
const wrapperKey = "gauze run"

// wrapper returns what the client actually starts for a wrapped server: the program called gauze and
// the arguments before the server's own command.
func (s *Server) wrapper() []string {
	words := append([]string{s.Spec.Command}, s.Spec.Args...)
	switch {
	case s.Inner == nil:
		return words
	case s.Inner.URL != "":
		return slices.DeleteFunc(words, func(word string) bool { return word == s.Inner.URL })
	}
	return words[:len(words)-1-len(s.Inner.Args)]
}

// wrappedByUs reports whether this gauze binary wraps a server, with only the flags that gauze wrap
// adds. Any program can be called gauze.
func (f *Fleet) wrappedByUs(s *Server) bool {
	front := s.wrapper()
	if !clientconfig.WrapFlags(front[2:]) {
		return false
	}
	if front[0] == f.Gauze {
		return true
	}
	path, err := exec.LookPath(front[0])
	return err == nil && f.Home.IsThisProgram(path)
}
