package attach

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/gauze-mcp/gauze/internal/disk/sockets"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// opening is the first message of each side. gauze up proves that it knows the token before the client
// says anything about itself: a stale address may belong to a different program by now.
type opening struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version,omitempty"` // of gauze up
	Nonce    string `json:"nonce"`
	Proof    []byte `json:"proof,omitempty"` // of gauze up
}

// hello is a Hello on the wire, after the client's proof. Paths and variables may be any bytes.
type hello struct {
	Server  string `json:"server,omitempty"`
	Profile string `json:"profile,omitempty"`
	Version string `json:"version"`
	Dir     []byte `json:"dir"`
	Env     []byte `json:"env"` // each variable ends with a zero

	Purpose string `json:"purpose,omitempty"`
}

// reply is what gauze up says to a hello.
type reply struct {
	Refused string `json:"refused,omitempty"` // why; empty: the stream begins
}

// proofOfUp and proofOfClient show that one side knows the token.
func proofOfUp(token, client, up, version string) []byte {
	return sockets.Proof(token, "up", client, up, version)
}

func proofOfClient(token, client, up string, hello []byte) []byte {
	return sockets.Proof(token, "client", client, up, string(hello))
}

// open greets as a client.
func open(conn net.Conn, about announcement) (client, up string, err error) {
	client = rand.Text()
	if err := send(conn, opening{Protocol: protocol, Nonce: client}); err != nil {
		return "", "", err
	}
	var o opening
	if err := receive(conn, &o); err != nil {
		return "", "", err
	}
	switch {
	case !hmac.Equal(o.Proof, proofOfUp(about.Token, client, o.Nonce, o.Version)):
		return "", "", fmt.Errorf("%w: another program answered at %s", ErrNotRunning, about.Address)
	case o.Protocol != protocol:
		return "", "", &VersionError{Version: plaintext.Clean(o.Version), PID: about.PID}
	}
	return client, o.Nonce, nil
}

// greet sends the hello of a client and waits until it is accepted.
func greet(conn net.Conn, about announcement, h []byte) error {
	client, up, err := open(conn, about)
	if err != nil {
		return err
	}
	if err := sendFrame(conn, append(proofOfClient(about.Token, client, up, h), h...)); err != nil {
		return err
	}
	var r reply
	if err := receive(conn, &r); err != nil {
		return err
	}
	if r.Refused != "" {
		return &Refusal{Reason: plaintext.Clean(r.Refused)}
	}
	return nil
}

// welcome receives the hello of a client as gauze up.
func welcome(conn net.Conn, token, version string) (h Hello, err error) {
	var o opening
	if err := receive(conn, &o); err != nil {
		return h, err
	}
	up := rand.Text()
	if err := send(conn, opening{protocol, version, up, proofOfUp(token, o.Nonce, up, version)}); err != nil {
		return h, err
	}
	frame, err := receiveFrame(conn, maxHello)
	if err != nil {
		return h, err
	}
	if len(frame) < sha256.Size || !hmac.Equal(frame[:sha256.Size], proofOfClient(token, o.Nonce, up, frame[sha256.Size:])) {
		return h, fmt.Errorf("the client does not know the token")
	}
	return decodeHello(frame[sha256.Size:])
}

func encodeHello(h Hello) ([]byte, error) {
	var env bytes.Buffer
	for _, v := range h.Env {
		env.WriteString(v)
		env.WriteByte(0)
	}
	if env.Len() > maxEnv {
		return nil, fmt.Errorf("the environment is larger than %d bytes", maxEnv)
	}
	text, err := json.Marshal(hello{h.Server, h.Profile, h.Version, []byte(h.Dir), env.Bytes(), h.purpose})
	if err == nil && len(text) > maxHello-sha256.Size {
		err = fmt.Errorf("the working directory, server or profile has a name that is too long")
	}
	return text, err
}

func decodeHello(text []byte) (Hello, error) {
	var w hello
	if err := json.Unmarshal(text, &w); err != nil {
		return Hello{}, err
	}
	h := Hello{Server: w.Server, Profile: w.Profile, Version: w.Version, Dir: string(w.Dir), purpose: w.Purpose}
	for v := range strings.SplitSeq(string(w.Env), "\x00") {
		h.Env = append(h.Env, v)
	}
	h.Env = h.Env[:len(h.Env)-1] // after the last zero
	return h, nil
}

// send sends a message of a greeting: its length and JSON.
func send(w io.Writer, message any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return sendFrame(w, text)
}

func sendFrame(w io.Writer, text []byte) error {
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...))
	return err
}

func receive(r io.Reader, message any) error {
	text, err := receiveFrame(r, maxGreeting)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, message)
}

// receiveFrame reads no byte beyond the frame: the stream follows. It takes memory only for what
// arrives.
func receiveFrame(r io.Reader, limit uint32) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > limit {
		return nil, fmt.Errorf("a message of %d bytes is too long", size)
	}
	var text bytes.Buffer
	if _, err := io.CopyN(&text, r, int64(size)); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}
