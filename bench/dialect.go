package main

import "fmt"

// dialect is how one era of the protocol is spoken on the wire: the lines that
// open a conversation and what every request carries.
type dialect struct {
	era     string
	opening []opening
	meta    string // a member of params, comma included, or empty
}

// opening is a line sent before the first call.
type opening struct {
	line   string
	answer bool // wait for one
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

// toolCall is the line of one call; id and arguments are JSON.
func (d *dialect) toolCall(id, tool, arguments string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`+"\n",
		id, tool, arguments, d.meta)
}
