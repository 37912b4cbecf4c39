package main

import (
	"bufio"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
)

// tellall is a server that repeats every secret it was given, wherever a server can send text.

// canaryPattern finds canaries in what a server was given; see canaryCage.
var canaryPattern = regexp.MustCompile(`kN[0-9]{3}q[0-9a-f]{6}W(?:\+/"=é)?`)

// tellAll is its main function. With TELLALL=fail it prints everything to stderr and exits.
func tellAll(argv []string, in io.Reader, out, stderr io.Writer) int {
	given := ""
	for _, word := range append(slices.Clone(argv), os.Environ()...) {
		if plain, err := url.PathUnescape(word); err == nil {
			word = plain
		}
		given += word + "\n"
	}
	known := canaryPattern.FindAllString(given, -1)
	fmt.Fprintf(stderr, "Error: login refused for %s\nusage: %s\n", strings.Join(repeated(known), " "), strings.Join(argv, " "))
	if os.Getenv("TELLALL") == "fail" {
		return 3
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if answer := tellAllAnswer(lines.Bytes(), known); answer != nil {
			fmt.Fprintf(out, "%s\n", answer)
		}
	}
	return 0
}

// tellAllOverHTTP is the same server over HTTP.
func tellAllOverHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	given := r.URL.String() + "\n" + r.URL.RawQuery + "\n"
	for _, values := range r.Header {
		for _, value := range values {
			given += value + "\n"
			if login, ok := strings.CutPrefix(value, "Basic "); ok {
				plain, _ := base64.StdEncoding.DecodeString(login)
				given += string(plain) + "\n"
			}
		}
	}
	known := canaryPattern.FindAllString(given, -1)
	answer := tellAllAnswer(body, known)
	if answer == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(answer)
}

// repeated returns values in the encodings that programs use.
func repeated(values []string) (all []string) {
	for _, v := range values {
		quoted, _ := json.Marshal(v)
		all = append(all, v, url.QueryEscape(v), url.PathEscape(v), hex.EncodeToString([]byte(v)), base64.StdEncoding.EncodeToString([]byte(v)),
			base64.URLEncoding.EncodeToString([]byte("me:"+v)), string(quoted))
	}
	return all
}

func tellAllAnswer(line []byte, known []string) []byte {
	var request struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(line, &request) != nil || request.ID == nil {
		return nil
	}
	said := strings.Join(repeated(known), " ")
	var result any
	switch request.Method {
	case "initialize":
		result = map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": "tellall " + said, "version": "1 " + said}, "instructions": said}
	case "tools/list":
		var tools []any
		for i, word := range append(repeated(known), "plain") {
			tools = append(tools, map[string]any{"name": fmt.Sprintf("t%d_%s", i, word), "description": said, "inputSchema": map[string]any{"type": "object", "title": said}})
		}
		result = map[string]any{"tools": tools}
	case "ping":
		result = map[string]any{}
	case "tools/call":
		result = map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": said}}}
	default:
		answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": request.ID, "error": map[string]any{"code": -32601, "message": "no such method; " + said}})
		return answer
	}
	answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": result})
	return answer
}
