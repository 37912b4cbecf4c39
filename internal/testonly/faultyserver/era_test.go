package faultyserver

import (
	"fmt"
	"testing"
)

// modernRequest returns a request of the modern era. fields is raw JSON that begins with a comma,
// or empty.
func modernRequest(id, method, fields string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s%s}}`, id, method, metaText, fields)
}

func TestModernResultsSayTheyAreComplete(t *testing.T) {
	p := talk(t, "-serial")
	for _, method := range []string{"server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list"} {
		p.write(modernRequest("1", method, ""))
		p.want(`"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"faultyserver"`, `"ttlMs":0,"cacheScope":"private"`)
	}
	p.write(modernRequest("2", "tools/call", `,"name":"echo","arguments":{"text":"hi"}`))
	p.want(`"id":2,"result":{"resultType":"complete"`, `"text":"hi"`)
	p.write(modernRequest("3", "tools/call", `,"name":"raw","arguments":{"result":"{}"}`))
	p.want(`{"jsonrpc":"2.0","id":3,"result":{}}`)
}

func TestModernEraRefusesWhatItHasNot(t *testing.T) {
	p := talk(t, "-serial")
	for _, method := range []string{"initialize", "ping", "logging/setLevel", "resources/subscribe"} {
		p.write(modernRequest("1", method, ""))
		p.want(`"id":1,"error":{"code":-32601`)
	}
	p.write(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	p.want(`"id":2,"error":{"code":-32602`, "clientCapabilities")
	p.write(`{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`)
	p.want(`"id":3,"error":{"code":-32022`, `"requested":"2099-01-01"`)
}

func TestListenIsAcknowledgedFirstAndTaggedEver(t *testing.T) {
	p := talk(t, "")
	p.write(modernRequest(`"L1"`, "subscriptions/listen", `,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["mem://0","mem://99"]}`))
	p.want(`"method":"notifications/subscriptions/acknowledged"`, `{"_meta":{"io.modelcontextprotocol/subscriptionId":"L1"}`, `"toolsListChanged":true`, `"resourceSubscriptions":["mem://0"]`)
	p.write(modernRequest("2", "tools/call", `,"name":"touch","arguments":{"uri":"mem://0"}`))
	p.want(`"method":"notifications/resources/updated"`, `"io.modelcontextprotocol/subscriptionId":"L1"`, `"uri":"mem://0"`)
	p.want(`"id":2`)
	p.write(modernRequest("3", "tools/call", `,"name":"state"`))
	p.want(`"listens":[{"id":"L1","toolsListChanged":true`)
	_ = p.stdin.Close() // the server ends the stream with a response
	p.want(`"id":"L1","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"L1"}}`)
}

func TestCancelledListenEndsWithoutAnAnswer(t *testing.T) {
	got := run(t, "", modernRequest(`"L1"`, "subscriptions/listen", `,"notifications":{"toolsListChanged":true}`),
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"L1"}}`,
		modernRequest("2", "subscriptions/listen", `,"notifications":{}`), // nothing to wait for: answered immediately
		modernRequest("3", "subscriptions/listen", ``))
	if len(got.lines()) != 4 {
		t.Errorf("got %q", got.lines())
	}
	contains(t, "stdout", got.stdout, `"id":2,"result"`, `"id":3,"error":{"code":-32602`)
}

func TestServerWithOwnVersionsAnswersTheNewestLegacyOne(t *testing.T) {
	p := talk(t, "-versions=2026-07-28,2025-03-26")
	p.write(hello)
	p.want(`"protocolVersion":"2025-03-26"`)
}
