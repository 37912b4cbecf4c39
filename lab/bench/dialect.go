package main

import "fmt"

// dialect is the wire form of one era of the protocol: the messages that open a session and what
// every request carries.
type dialect struct {
	era     string
	opening []opening
	meta    string // a member of params with a leading comma, or empty
}

// opening is a line sent before the first call.
type opening struct {
	line   string
	answer bool // a response is expected
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{},` +
	`"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}}`

var dialects = []dialect{
	{"legacy", []opening{
		{initializeLine, true},
		{initializedLine, false},
		{`{"jsonrpc":"2.0","id":"tools","method":"tools/list"}` + "\n", true},
	}, ""},
	{"modern", []opening{
		{`{"jsonrpc":"2.0","id":"discover","method":"server/discover","params":{` + modernMeta + "}}\n", true},
		{`{"jsonrpc":"2.0","id":"tools","method":"tools/list","params":{` + modernMeta + "}}\n", true},
	}, "," + modernMeta},
}

// toolCall returns the line of one tools/call request. id and arguments are JSON.
func (d *dialect) toolCall(id, tool, arguments string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`+"\n",
		id, tool, arguments, d.meta)
}
