package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/remembered"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// Thing is something that a person can be shown before it is used. It is these bytes, not their name:
// if one of them changes, it has not been seen.
type Thing struct {
	Kind  Kind
	Where string // where it counts: the directory of the project, the origin of the server, the issuer
	Bytes string // what was shown, complete: nothing that decides what happens may be missing
}

// Kind is what a Thing is. The same bytes are not the same thing in a different kind.
type Kind string

const (
	ServerEntry Kind = "entry" // how a server is started or reached
	FixOffer    Kind = "fix"   // a fix that uses a value of a project
	TaskPlan    Kind = "task"  // servers and steps of a task
	LoginAt     Kind = "login" // which server gets a login of which authorization server
	EndpointsOf Kind = "hosts" // the hosts at which an authorization server has its endpoints
)

// Hash identifies the thing on a command line.
func (t Thing) Hash() string {
	sum := sha256.Sum256([]byte(t.key()))
	return hex.EncodeToString(sum[:])[:32]
}

// key returns a text that is equal only for equal things.
func (t Thing) key() string {
	var b strings.Builder
	for _, part := range []string{string(t.Kind), t.Where, t.Bytes} {
		b.WriteString(strconv.Itoa(len(part)) + ":" + part)
	}
	return b.String()
}

// Memory knows what a person has seen and agreed to, in this and in earlier processes.
type Memory struct {
	state  string // empty: nothing is kept on disk
	mu     sync.Mutex
	agreed map[string]bool
}

// NewMemory returns the memory in gauze's state directory. Without a directory it ends with the process.
func NewMemory(state string) *Memory {
	return &Memory{state: state, agreed: map[string]bool{}}
}

// shelf returns where the things of one kind are: many tasks leave the entries where they are.
func (m *Memory) shelf(kind Kind) *remembered.Shelf { return remembered.Seen(m.state, string(kind)) }

// Dir returns the directory that changes when a person agrees to a thing of this kind, or "" if nothing
// is kept on disk. It may not exist yet.
func (m *Memory) Dir(kind Kind) string {
	if m == nil || m.state == "" {
		return ""
	}
	return m.shelf(kind).Dir()
}

// Seen reports whether a person has seen exactly this and agreed to it. Whatever cannot be read was
// not seen. A nil Memory has seen nothing.
func (m *Memory) Seen(t Thing) bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.agreed[t.key()] || m.state != "" && m.shelf(t.Kind).Get(t.key()) != nil
}

// Agreed remembers that a person has seen a thing and agreed to it. about is one line for people who
// look at the file; it has no secrets. If it cannot be kept on disk, the person is asked again by the
// next process.
func (m *Memory) Agreed(t Thing, about string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.agreed[t.key()] = true
	if m.state == "" {
		return
	}
	note, err := json.Marshal(struct {
		Kind  Kind      `json:"kind"`
		About string    `json:"about"`
		At    time.Time `json:"at"`
	}{t.Kind, plaintext.Clean(about), time.Now().UTC().Truncate(time.Second)})
	if err == nil {
		m.shelf(t.Kind).Put(t.key(), note)
	}
}
