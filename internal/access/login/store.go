package login

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/robustio"

	"github.com/gauze-mcp/gauze/internal/disk/files"
	"github.com/gauze-mcp/gauze/internal/text/sorting"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Store has the logins of one user. All gauze processes share it.
//
// Each login is a file that is only ever replaced as a whole. Its name is derived from the key, so
// that a login is found without reading the others.
type Store struct {
	dir     string // empty if there is none
	refused error  // why the directory is not used: nothing is found, and nothing can be stored
	key     *keyring
	memory  *trust.Memory                           // has what people agreed to about logins
	write   func(path string, content []byte) error // tests replace it
}

// ErrNone means that the store does not have the login.
var ErrNone = errors.New("not logged in")

// Open returns the store in the state directory dir. It reads nothing yet.
func Open(dir string) *Store {
	memory := trust.NewMemory(dir)
	dir = filepath.Join(dir, "logins")
	return &Store{memory: memory, dir: dir, key: &keyring{ring: systemKeyring(), dir: dir, timeout: keyringTimeout}, write: replaceFile}
}

const (
	format    = 1 // the version of the files
	extension = ".login"
)

// An envelope is the content of a file. Everything but the login itself is readable without a key.
type envelope struct {
	Format int `json:"gauze_login"`
	Key
	EncryptedWith string          `json:"encrypted_with,omitempty"` // identifies the key; empty if Login is plain
	Login         json.RawMessage `json:"login,omitempty"`
	Sealed        []byte          `json:"sealed,omitempty"`
}

// record is Login as it is stored.
type record Login

// fileName returns what the names of all files about a resource and an account begin with.
func fileName(resource, account string) string { return digest(resource, account) }

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:12])
}

func (s *Store) path(k Key) string {
	return filepath.Join(s.dir, fileName(k.Resource, k.Account)+"-"+digest(k.Issuer)+extension)
}

// Find returns the latest login to a resource with an account, whichever issuer it has, or ErrNone.
// A login that has ended is returned only if all have.
func (s *Store) Find(resource, account string) (Login, error) {
	l, _, err := s.find(resource, account)
	return l, err
}

// find is Find. The stamp is that of what has to change before the result can be different, except
// that a second issuer is noticed only when the login of the first no longer works.
func (s *Store) find(resource, account string) (Login, stamp, error) {
	dir := stampOf(s.dir)
	if !dir.exists {
		return Login{}, dir, ErrNone
	}
	names, err := s.names()
	if err != nil {
		return Login{}, dir, err
	}
	var best Login
	var seen stamp
	found, failed := false, error(nil)
	for _, file := range names {
		if !strings.HasPrefix(filepath.Base(file), fileName(resource, account)+"-") {
			continue
		}
		at := stampOf(file)
		l, err := s.read(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			failed = err
		case l.Resource != resource || l.Account != account:
			failed = damaged(file, nil)
		case !found || best.Ended != "" && l.Ended == "" || (best.Ended == "") == (l.Ended == "") && l.Began.After(best.Began):
			best, seen, found = l, at, true
		}
	}
	switch {
	case found && best.Ended == "":
		return best, seen, nil
	case failed != nil:
		return Login{}, dir, failed
	case found:
		return best, dir, nil
	}
	return Login{}, dir, ErrNone
}

// All returns every login, without reading the keyring more than once. A login that cannot be read
// has only its key, and is part of the error.
func (s *Store) All() ([]Login, error) {
	names, err := s.names()
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	var all []Login
	var failed []error
	for _, file := range names {
		e, err := readEnvelope(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		l := Login{Key: e.Key}
		if err == nil {
			var opened Login
			if opened, err = s.open(file, e); err == nil {
				l = opened
			}
		}
		if err != nil {
			failed = append(failed, err)
		}
		if l.Resource != "" {
			all = append(all, l)
		}
	}
	sorting.Stable(all, func(a, b Login) int {
		return strings.Compare(a.Resource+"\x00"+a.Account+"\x00"+a.Issuer, b.Resource+"\x00"+b.Account+"\x00"+b.Issuer)
	})
	return all, errors.Join(failed...)
}

// ofPerson returns the logins of the person with an account, as far as they can be read. The users of
// gauze serve are different people.
func (s *Store) ofPerson(account string) []Login {
	all, _ := s.All()
	return slices.DeleteFunc(all, func(l Login) bool {
		return l.Account != account && (launch.IsClientAccount(account) || launch.IsClientAccount(l.Account))
	})
}

func (s *Store) names() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	var names []string
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), extension) {
			names = append(names, filepath.Join(s.dir, entry.Name()))
		}
	}
	return names, err
}

func (s *Store) read(file string) (Login, error) {
	e, err := readEnvelope(file)
	if err != nil {
		return Login{}, err
	}
	return s.open(file, e)
}

// readEnvelope returns an error that names the file and what to run.
func readEnvelope(file string) (e envelope, err error) {
	text, err := robustio.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return e, err
	case err != nil:
		return e, fmt.Errorf("cannot read the login in %s: %w", file, reason(err))
	}
	if info, err := os.Stat(file); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		os.Chmod(file, 0o600)
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return envelope{}, damaged(file, err)
	}
	if e.Format > format {
		return envelope{Key: e.Key}, fmt.Errorf("the login in %s was written by a newer version of gauze: update this one, or log in again with gauze login", file)
	}
	if e.Format < 1 || e.Resource == "" {
		return envelope{}, damaged(file, nil)
	}
	return e, nil
}

// open returns the login of an envelope.
func (s *Store) open(file string, e envelope) (Login, error) {
	text := []byte(e.Login)
	if e.EncryptedWith != "" {
		key, err := s.key.find(e.EncryptedWith)
		if err != nil {
			return Login{}, fmt.Errorf("the login in %s is encrypted with a key in the system keyring, %w", file, err)
		}
		if text, err = unseal(key, e); err != nil {
			return Login{}, damaged(file, err)
		}
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return Login{}, damaged(file, err)
	}
	if r.Key != e.Key {
		return Login{}, damaged(file, nil)
	}
	return Login(r), nil
}

func damaged(file string, err error) error {
	if err == nil {
		err = errors.New("its contents do not match its file name")
	}
	return damagedError{fmt.Errorf("the login in %s is damaged (%w): log in again with gauze login", file, err)}
}

// damagedError is an error that a new login repairs.
type damagedError struct{ error }

func (e damagedError) Unwrap() error { return e.error }

// reason drops the path from err if its message has it elsewhere.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Put writes a login so that a process killed at any time leaves the old one or the new one. The
// caller must have the Lock, or use Add.
//
// A renewed login stays as it is, encrypted or not: whatever could read it before can read it after.
func (s *Store) Put(l Login) error {
	if s.refused != nil {
		return s.refused
	}
	file := s.path(l.Key)
	text, err := json.Marshal(record(l))
	if err != nil {
		return err
	}
	e := envelope{Format: format, Key: l.Key, Login: text}
	id, key, err := s.keyFor(l, file)
	if err == nil && id != "" {
		err = e.seal(id, key)
	}
	if err != nil {
		return fmt.Errorf("the login in %s is encrypted with a key in the system keyring, %w", file, err)
	}
	if text, err = json.MarshalIndent(e, "", "  "); err != nil {
		return err
	}
	if err := s.makeDir(); err != nil {
		return err
	}
	if err := s.write(file, append(text, '\n')); err != nil {
		return fmt.Errorf("cannot write the login to %s: %w", file, reason(err))
	}
	return nil
}

// keyFor returns the key to encrypt a login with; none if it is stored in plain text.
func (s *Store) keyFor(l Login, file string) (id string, key []byte, err error) {
	if s.key.off() {
		return "", nil, nil
	}
	old, err := readEnvelope(file)
	encrypted := err == nil && old.EncryptedWith != ""
	if err == nil && !encrypted {
		if before, err := s.open(file, old); err == nil && before.Began.Equal(l.Began) {
			return "", nil, nil
		}
	}
	id, key, err = s.key.get()
	if err != nil && !encrypted {
		return "", nil, nil
	}
	return id, key, err
}

func (s *Store) makeDir() error {
	if s.refused != nil {
		return s.refused
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("cannot create the directory %s: %w", s.dir, reason(err))
	}
	if info, err := os.Stat(s.dir); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return os.Chmod(s.dir, 0o700)
	}
	return nil
}

// Remove removes a login. It returns ErrNone if there is none.
func (s *Store) Remove(k Key) error {
	file := s.path(k)
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return ErrNone
	}
	return robustio.RemoveAll(file)
}

// Encrypted reports whether the tokens of a login are encrypted with a key in the system's keyring.
func (s *Store) Encrypted(k Key) bool {
	e, err := readEnvelope(s.path(k))
	return err == nil && e.EncryptedWith != ""
}

// stamp is what is compared to tell whether a file or directory may have changed.
type stamp struct {
	path     string
	exists   bool
	size     int64
	modified time.Time
	settled  bool // a later change has a later time
}

// settleTime is longer than the resolution of the times of any file system.
const settleTime = 2 * time.Second

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{path: path, settled: true}
	}
	age := time.Since(info.ModTime())
	return stamp{path, true, info.Size(), info.ModTime(), age.Abs() > settleTime}
}

// current reports whether what s was taken of has not changed.
func (s stamp) current() bool {
	if !s.settled {
		return false
	}
	now := stampOf(s.path)
	return s.exists == now.exists && s.size == now.size && s.modified.Equal(now.modified)
}

// replaceFile replaces a file. The caller has the lock of its login.
func replaceFile(path string, content []byte) error {
	files.RemoveUnfinished(path)
	return files.Replace(path, content)
}
