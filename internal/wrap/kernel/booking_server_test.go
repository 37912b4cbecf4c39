package kernel_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const bookingSchema = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1,"maximum":14},` +
	`"when":{"type":"string"},"token":{"type":"string"}},"required":["city","days"],"additionalProperties":false}`

const bookingTools = `{"tools":[{"name":"find","description":"Finds rooms.","inputSchema":` + bookingSchema + `,"annotations":{"readOnlyHint":true}},` +
	`{"name":"book","description":"Books a room.","inputSchema":` + bookingSchema + `},` +
	`{"name":"change","inputSchema":{"type":"object"}},{"name":"die","inputSchema":{"type":"object"}}]}`

// serveBooking has tools that check their arguments as a library does, before they run. Every call
// that ran is in the file ledger. The city says what else happens: full rejects every call in the
// same words, coded rejects with an error, locked for another reason, slow runs once the file go
// exists, and fatal ends the server if the arguments are right. After change, find accepts fewer days. A call whose date is not in the form 2026-03-05 is rejected after it ran.
func serveBooking(in io.Reader, out io.Writer, dir string) {
	tools := bookingTools
	eachLine(in, func(_ []byte, m plainMessage) {
		say := func(line string) { fmt.Fprintln(out, `{"jsonrpc":"2.0",`+line+`}`) }
		answer := func(members string) { say(`"id":` + string(m.ID) + `,` + members) }
		switch m.Method {
		case "initialize":
			answer(`"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"booking","version":"1"}}`)
		case "server/discover":
			answer(`"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"booking","version":"1"}}`)
		case "ping":
			answer(`"result":{}`)
		case "tools/list":
			answer(`"result":` + tools)
		case "tools/call":
			if strings.Contains(string(m.Params), `"name":"change"`) {
				tools = strings.Replace(tools, `"maximum":14`, `"maximum":7`, 1) // of find
				say(`"method":"notifications/tools/list_changed"`)
			}
			if strings.Contains(string(m.Params), `"name":"die"`) {
				os.Exit(3)
			}
			answer(booked(m.Params, filepath.Join(dir, "ledger")))
		}
	})
}

func booked(params json.RawMessage, ledger string) string {
	var p struct {
		Name      string
		Arguments struct {
			City string
			Days json.RawMessage
			When string
		}
	}
	json.Unmarshal(params, &p)
	run := func() {
		file, _ := os.OpenFile(ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		fmt.Fprintln(file, p.Name, p.Arguments.City)
		file.Close()
	}
	var days int
	wrong := p.Arguments.City != "" && json.Unmarshal(p.Arguments.Days, &days) != nil
	switch {
	case p.Arguments.When != "" && len(p.Arguments.When) != len("2026-03-05"):
		run()
		return bookingFailure(`1 validation error for bookArguments\nwhen\n  Input should be a valid date, invalid character in year [type=date_parsing]`)
	case relayed[p.Arguments.City] != "" && wrong:
		run()
		return bookingFailure(relayed[p.Arguments.City])
	case p.Arguments.City == "locked" && wrong:
		return bookingFailure(`401 Unauthorized: the token is not valid`)
	case p.Arguments.City == "coded" && wrong:
		return `"error":{"code":-32602,"message":"Invalid arguments for tool book: days must be an integer"}`
	case p.Arguments.City == "fatal" && !wrong:
		run()
		os.Exit(3)
	case p.Arguments.City == "full" || wrong:
		return bookingFailure(`1 validation error for bookArguments\ndays\n  Input should be a valid integer, unable to parse string as an integer [type=int_parsing]`)
	}
	for p.Arguments.City == "slow" {
		if _, err := os.Stat(filepath.Join(filepath.Dir(ledger), "go")); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	run()
	return `"result":{"content":[{"type":"text","text":"done"}]}`
}

// relayed are rejections that a downstream server wrote, and that the tool passes on after it has
// acted.
var relayed = map[string]string{
	"other-tool":    `MCP error -32602: Input validation error: Invalid arguments for tool geocode: Invalid input: expected number, received string at days`,
	"other-fields":  `MCP error -32602: Input validation error: Invalid arguments for tool book: Invalid input: expected number, received string at when`,
	"no-tool":       `Input validation error: 'three' is not of type 'integer'`,
	"other-library": `Error executing tool book: Error executing tool reserve: 1 validation error for reserveArguments\ndays\n  Input should be a valid integer`,
	"passed-on":     `MCP error -32602: MCP error -32602: Invalid arguments for tool book: days must be an integer`,
}

func bookingFailure(text string) string {
	return `"result":{"content":[{"type":"text","text":"` + text + `"}],"isError":true}`
}
