package dashboard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Codes makes and accepts the codes in the addresses of a dashboard. A process that has the user's token and
// knows the run can make a code for a dashboard that is running, without asking it. A code is accepted once,
// at one address, for CodeLifetime, and by no later run: browsers keep the addresses that they open.
type Codes struct {
	token, addr, run string
	now              func() time.Time

	mu   sync.Mutex
	used map[string]bool // never emptied: a person makes each of them
}

// CodeLifetime is how long a code that was not used is accepted.
const CodeLifetime = 10 * time.Minute

// NewCodes returns the codes of the dashboard at addr, such as 127.0.0.1:7301. Each start of it is a run, with
// a random text.
func NewCodes(token, addr, run string) *Codes {
	return &Codes{token: token, addr: addr, run: run, now: time.Now, used: map[string]bool{}}
}

// New returns a new code.
func (c *Codes) New() string {
	issued := strconv.FormatInt(c.now().UnixNano(), 36) + "." + rand.Text()[:10]
	return issued + "." + c.sign(issued)
}

// sign returns a signature that counts for this run and this address alone: a program that has taken the port
// of a dashboard cannot use the code elsewhere.
func (c *Codes) sign(issued string) string {
	code := hmac.New(sha256.New, []byte(c.token))
	code.Write([]byte("code for the dashboard at " + c.addr + " of " + c.run + " " + issued))
	return hex.EncodeToString(code.Sum(nil))[:32]
}

// use makes a code useless. It returns why the code is not accepted, as a sentence, or nothing.
func (c *Codes) use(code string) (why string) {
	end := strings.LastIndexByte(code, '.') + 1
	issued := strings.TrimSuffix(code[:end], ".")
	if !hmac.Equal([]byte(c.sign(issued)), []byte(code[end:])) {
		return "This code is not valid here. The dashboard may have been restarted, or it uses another state directory."
	}
	at, _, _ := strings.Cut(issued, ".")
	made, err := strconv.ParseInt(at, 36, 64)
	if age := c.now().Sub(time.Unix(0, made)).Abs(); err != nil || age > CodeLifetime {
		return "This address has expired."
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used[issued] {
		return "This address has already been used. It works only once."
	}
	c.used[issued] = true
	return ""
}
