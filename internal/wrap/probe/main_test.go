package probe

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
)

func TestMain(m *testing.M) {
	faultyserver.RunIfAsked()
	behave()
	os.Exit(m.Run())
}

// behave turns this process into one that uses the network and then waits for the end of its stdin,
// if the environment asks for that.
func behave() {
	address := os.Getenv("GAUZE_TEST_ADDRESS")
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			panic(err)
		}
		return conn
	}
	switch os.Getenv("GAUZE_TEST_BEHAVE") {
	case "":
		return
	case "listen":
		listener, err := net.Listen("tcp", address)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(os.Stderr, "listening at", listener.Addr())
	case "connect":
		dial()
		fmt.Fprintln(os.Stderr, "connected")
	case "logging":
		fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"no workspace"}}`)
		fmt.Println(`{"jsonrpc":"2.0","id":"x","method":"log","params":{"level":50,"message":"invalid account"}}`)
		fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":{"message":"giving up"}}}`)
		os.Exit(1)
	case "serve":
		serveHTTP(address, func() {})
	case "serve both": // it answers on stdout once it was found elsewhere
		found := make(chan struct{})
		serveHTTP(address, sync.OnceFunc(func() { close(found) }))
		<-found
		answerWithoutTools("")
	case "serve beside": // it answers on stdout, but does not list its tools there
		serveHTTP(address, func() {})
		answerWithoutTools("tools/list")
	case "toolless":
		answerWithoutTools("")
	case "schemaless":
		toollessResults["tools/list"] = `{"tools":[{"name":"good","inputSchema":{"type":"object"}},{"name":"bare"},{"name":"null","inputSchema":null}]}`
		answerWithoutTools("")
	case "fetch":
		go io.Copy(io.Discard, dial())
	}
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// answerWithoutTools acts as a server that declares tools and lists none. It does not answer one method.
func answerWithoutTools(except string) {
	in := json.NewDecoder(os.Stdin)
	for {
		var request struct {
			ID     json.RawMessage
			Method string
		}
		if in.Decode(&request) != nil {
			os.Exit(0)
		}
		if result := toollessResults[request.Method]; result != "" && request.Method != except {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", request.ID, result)
		}
	}
}

var toollessResults = map[string]string{
	"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"empty","version":"1"}}`,
	"tools/list": `{"tools":[]}`,
}

// serveHTTP answers like answerWithoutTools, over HTTP. It calls listed with each list of tools.
func serveHTTP(address string, listed func()) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		panic(err)
	}
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			ID     json.RawMessage
			Method string
		}
		if r.URL.Path != "/mcp" || json.NewDecoder(r.Body).Decode(&request) != nil {
			http.NotFound(w, r)
			return
		}
		result := toollessResults[request.Method]
		if result == "" {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, request.ID, result)
		if request.Method == "tools/list" {
			listed()
		}
	}))
}
