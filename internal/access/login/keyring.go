package login

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	system "github.com/zalando/go-keyring"
)

// The keyring has one item, the key of all files: items are limited to 2.5 KB on Windows, which many
// tokens exceed, and reading one can take a round trip to a different process.
const (
	keyringService = "gauze"
	keyringItem    = "key of the stored logins"
)

const (
	keyringTimeout = 5 * time.Second  // for keyrings that do not respond, or wait for a password
	keyringPause   = 30 * time.Second // how long a keyring that failed is not asked again
)

// ring is the part of the system's keyring that is used.
type ring interface {
	Get(service, item string) (string, error)
	Set(service, item, secret string) error
}

// keyring provides the key of the files. It asks the system's keyring until it has the key.
type keyring struct {
	ring    ring   // nil if there is none
	dir     string // has the lock for making the key
	timeout time.Duration

	mu     sync.Mutex
	id     string
	key    []byte
	failed error
	at     time.Time // when failed happened
}

var errNoKeyring = errors.New("which is not available")

// off reports whether the user does not want the keyring to be used.
func (k *keyring) off() bool { return os.Getenv("GAUZE_KEYRING") == "off" }

// find returns the key with an id.
func (k *keyring) find(id string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.off() {
		return nil, errors.New("but GAUZE_KEYRING is set to off")
	}
	if k.id != id {
		if err := k.load(false); err != nil {
			return nil, err
		}
	}
	if k.id != id {
		return nil, errors.New("which now contains a different key: log in again with gauze login")
	}
	return k.key, nil
}

// get returns the key, and makes it first if there is none.
func (k *keyring) get() (id string, key []byte, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key == nil {
		err = k.load(true)
	}
	return k.id, k.key, err
}

func (k *keyring) load(create bool) error {
	if k.ring == nil {
		return errNoKeyring
	}
	if k.failed != nil && time.Since(k.at) < keyringPause {
		return k.failed
	}
	k.failed = nil
	text, err := within(k.timeout, func() (string, error) { return k.ring.Get(keyringService, keyringItem) })
	if errors.Is(err, system.ErrNotFound) && create {
		text, err = k.create()
	}
	if errors.Is(err, system.ErrNotFound) {
		return errors.New("which no longer contains it: log in again with gauze login")
	}
	if err == nil {
		var key []byte
		if key, err = base64.StdEncoding.DecodeString(text); err == nil && len(key) != 32 {
			err = errors.New("it is not a valid key")
		}
		if err == nil {
			sum := sha256.Sum256(append([]byte("gauze login key "), key...))
			k.id, k.key = hex.EncodeToString(sum[:8]), key
			return nil
		}
	}
	k.failed, k.at = fmt.Errorf("which is locked or not available (%w)", err), time.Now()
	return k.failed
}

// create makes the key, once for all processes.
func (k *keyring) create() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*k.timeout)
	defer cancel()
	s := Store{dir: k.dir}
	unlock, err := s.lock(ctx, "key.lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	return within(k.timeout, func() (string, error) {
		if text, err := k.ring.Get(keyringService, keyringItem); !errors.Is(err, system.ErrNotFound) {
			return text, err
		}
		key := make([]byte, 32)
		rand.Read(key)
		if err := k.ring.Set(keyringService, keyringItem, base64.StdEncoding.EncodeToString(key)); err != nil {
			return "", err
		}
		return k.ring.Get(keyringService, keyringItem)
	})
}

// within returns the result of f, or an error if it takes too long.
func within(limit time.Duration, f func() (string, error)) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := f()
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-time.After(limit):
		return "", fmt.Errorf("no response within %v", limit)
	}
}

// seal replaces the login of e by its encrypted form. What else is in e is bound to it.
func (e *envelope) seal(id string, key []byte) error {
	e.EncryptedWith = id
	box, bound, err := e.box(key)
	if err != nil {
		return err
	}
	e.Sealed, e.Login = box.Seal(nil, nil, e.Login, bound), nil
	return nil
}

func unseal(key []byte, e envelope) ([]byte, error) {
	box, bound, err := e.box(key)
	if err != nil {
		return nil, err
	}
	return box.Open(nil, nil, e.Sealed, bound)
}

func (e *envelope) box(key []byte) (box cipher.AEAD, bound []byte, err error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, nil, err
	}
	if box, err = cipher.NewGCMWithRandomNonce(block); err != nil {
		return nil, nil, err
	}
	bound, err = json.Marshal(envelope{Format: e.Format, Key: e.Key, EncryptedWith: e.EncryptedWith})
	return box, bound, err
}

// systemKeyring returns the keyring of the system, or nil if there is none. Without a session bus,
// the library would start one.
func systemKeyring() ring {
	switch runtime.GOOS {
	case "windows", "darwin":
		return systemRing{}
	}
	if bus := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); bus != "" && bus != "autolaunch:" {
		return systemRing{}
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, "bus")); err == nil {
			return systemRing{}
		}
	}
	return nil
}

type systemRing struct{}

func (systemRing) Get(service, item string) (string, error) { return system.Get(service, item) }

func (systemRing) Set(service, item, secret string) error { return system.Set(service, item, secret) }
