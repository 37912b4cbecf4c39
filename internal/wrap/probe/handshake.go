package probe

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

const methodNotFound = -32601

// negotiate performs the handshake and lists the tools.
func (a *attempt) negotiate() error {
	if err := a.handshake(); err != nil {
		return err
	}
	a.reach(upstream.Initialized, fmt.Sprintf("initialized: %s, protocol %s", redact.Quote(a.r.Found.Name+" "+a.r.Found.Version), redact.Quote(a.r.Found.Protocol)))
	if err := a.list(); err != nil {
		return err
	}
	a.r.Found.Toolless = a.hasTools && len(a.r.Found.Tools) == 0
	a.reach(upstream.Listed, "listed: "+plaintext.Count(len(a.r.Found.Tools), "tool"))
	return nil
}

// handshake tries initialize first: some legacy servers exit on server/discover, while a modern one
// rejects initialize.
func (a *attempt) handshake() error {
	result, err := a.request("initialize", fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":{},"clientInfo":%s}`, a.Protocol, a.clientInfo()))
	if rejectsInitialize(err) {
		a.Progress("the server rejected initialize; trying server/discover")
		if a.discover() == nil {
			return nil
		}
	}
	if err != nil {
		return err
	}
	a.learnServer(result, "serverInfo")
	a.noteTools(result)
	a.r.Found.Era, a.r.Found.Protocol = "legacy", textField(result, "protocolVersion")
	if a.r.Found.Protocol == "" {
		return a.invalid("its response to initialize contains no protocol version")
	}
	if _, err := a.conn.Queue([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")); err == nil {
		a.conn.Flush()
	}
	return nil
}

// invalid records what is wrong with a message of the server.
func (a *attempt) invalid(what string) error {
	a.r.Invalid = what
	return errors.New(what)
}

// rejectsInitialize reports whether err means that the server does not support initialize.
func rejectsInitialize(err error) bool {
	var rpc *upstream.RPCError
	var lost *lostError
	switch {
	case errors.As(err, &rpc):
		const headers, version = -32020, -32022
		if rpc.Code == methodNotFound || rpc.Code == headers || rpc.Code == version {
			return true
		}
		modern := false
		supported, _ := wire.Field(rpc.Data, "supported")
		wire.Elements(supported, func(raw []byte) {
			version, _ := wire.Text(raw)
			modern = modern || version >= wire.FirstModern
		})
		return modern
	case errors.As(err, &lost):
		return lost.Status == http.StatusBadRequest
	}
	return false
}

func (a *attempt) discover() error {
	a.meta = []byte(wire.ModernMeta(string(a.clientInfo())))
	result, err := a.request("server/discover", a.params(nil))
	if err != nil {
		a.meta = nil
		return err
	}
	a.noteTools(result)
	a.r.Found.Era, a.r.Found.Protocol = "modern", wire.FirstModern
	meta, _ := wire.Field(result, "_meta")
	a.learnServer(meta, wire.MetaServer)
	if a.r.Found.Name == "" {
		a.learnServer(result, "serverInfo")
	}
	return nil
}

func (a *attempt) clientInfo() []byte {
	return fmt.Appendf(nil, `{"name":"gauze","version":%s}`, quoteJSON(a.Version))
}

func (a *attempt) learnServer(object []byte, key string) {
	info, _ := wire.Field(object, key)
	a.r.Found.Name, a.r.Found.Version = textField(info, "name"), textField(info, "version")
}

// noteTools records whether the server declares tools.
func (a *attempt) noteTools(result []byte) {
	capabilities, _ := wire.Field(result, "capabilities")
	tools, _ := wire.Field(capabilities, "tools")
	a.hasTools = tools != nil
}

// params returns an object with the members and, for a modern server, _meta.
func (a *attempt) params(members []byte) []byte {
	if a.meta != nil {
		if len(members) > 0 {
			members = append(members, ',')
		}
		members = append(append(members, `"_meta":`...), a.meta...)
	}
	return append(append([]byte{'{'}, members...), '}')
}

// Limits on a hostile tools/list.
const (
	maxPages = 100
	maxTools = 10_000
)

func (a *attempt) list() error {
	var cursor []byte
	for range maxPages {
		var members []byte
		if cursor != nil {
			members = append([]byte(`"cursor":`), cursor...)
		}
		result, err := a.request("tools/list", a.params(members))
		var refused *upstream.RPCError
		if errors.As(err, &refused) && refused.Code == methodNotFound && !a.hasTools {
			a.r.RPC = a.r.RPC[:len(a.r.RPC)-1] // it declares no tools
			return nil
		}
		if err != nil {
			return err
		}
		tools, _ := wire.Field(result, "tools")
		if len(tools) == 0 || tools[0] != '[' {
			return a.invalid("its response to tools/list contains no list of tools")
		}
		wire.Elements(tools, a.learnTool)
		next, _ := wire.Field(result, "nextCursor")
		if text, ok := wire.Text(next); !ok || text == "" {
			return nil
		}
		if bytes.Equal(next, cursor) || a.r.Found.MoreTools {
			break
		}
		cursor = bytes.Clone(next)
	}
	a.r.Found.MoreTools = true
	return nil
}

func (a *attempt) learnTool(raw []byte) {
	if len(a.r.Found.Tools) >= maxTools {
		a.r.Found.MoreTools = true
		return
	}
	schema, _ := wire.Field(raw, "inputSchema")
	if a.r.Found.Unusable == "" && (len(schema) == 0 || schema[0] != '{') {
		a.r.Found.Unusable = textField(raw, "name")
	}
	hints, _ := wire.Field(raw, "annotations")
	hint := func(name string) string {
		value, _ := wire.Field(hints, name)
		return string(value)
	}
	tool := Tool{Name: textField(raw, "name"), SchemaSize: len(schema), ReadOnly: hint("readOnlyHint") == "true", Idempotent: hint("idempotentHint") == "true"}
	tool.Definition, tool.Raw = Definition(raw), bytes.Clone(raw)
	tool.Bytes, tool.Tokens = cost(raw)
	tool.Destructive = !tool.ReadOnly && hint("destructiveHint") != "false"
	a.r.Found.Tools = append(a.r.Found.Tools, tool)
}

// Definition returns a hash of a tool's entry in a list that does not depend on spacing and order. Readers disagree on an
// object that has a name twice, so the hash of such an entry is that of its text.
func Definition(raw []byte) string {
	errText, ok := decoded(raw)
	if !ok {
		errText = string(raw)
	}
	if members, ok := errText.(map[string]any); ok {
		delete(members, "_meta") // may contain times and counters
		delete(members, "icons")
	}
	canonical, err := json.Marshal(errText) // keys sorted
	if err != nil {
		canonical = raw
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

// textField returns the decoded string of a member, limited in length.
func textField(object []byte, key string) string {
	raw, _ := wire.Field(object, key)
	text, _ := wire.Text(raw)
	return text[:min(len(text), life.MaxTextBytes)]
}

func quoteJSON(text string) []byte {
	quoted, _ := json.Marshal(text) // a string can always be encoded
	return quoted
}
