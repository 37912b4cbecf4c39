package probe

import (
	"bytes"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// ReadTools reads the tools in the result of tools/list.
func ReadTools(result []byte) []Tool {
	var a attempt
	tools, _ := wire.Field(result, "tools")
	wire.Elements(tools, a.learnTool)
	return a.r.Found.Tools
}

// cost returns how much of a model's context a tool fills: the bytes of what clients pass to the model (its name,
// its description and its input schema), and the tokens that these are about.
func cost(raw []byte) (size, tokens int) {
	var values [3][]byte
	_ = wire.Fields(raw, values[:], "name", "description", "inputSchema") // an ambiguous tool has none of them
	for _, value := range values {
		size, tokens = size+len(value), tokens+Tokens(value)
	}
	return size, tokens + toolTokens
}

// toolTokens is what surrounds each tool.
const toolTokens = 8

// Tokens estimates the tokens of a text. There are as many tokenizers as families of models. All of them have a token for
// most words, and split the long ones; for up to three digits; for a few signs that often follow each other; and about one
// for each letter of scripts that are not Latin.
func Tokens(text []byte) (n int) {
	for len(text) > 0 {
		first, size := utf8.DecodeRune(text)
		kind := kindOf(first)
		run := bytes.IndexFunc(text, func(r rune) bool { return kindOf(r) != kind })
		if run < 0 {
			run = len(text)
		}
		switch kind {
		case letter:
			n += 1 + (run-1)/lettersOfToken
		case digit:
			n += 1 + (run-1)/3
		case sign:
			n += 1 + (run-1)/signsOfToken
		case other:
			run = size
			n++
		}
		text = text[run:]
	}
	return n
}

// What tokens have at most, as a rule.
const (
	lettersOfToken = 10
	signsOfToken   = 4
)

type kind int

const (
	blank kind = iota // belongs to the word that follows
	letter
	digit
	sign
	other
)

func kindOf(r rune) kind {
	switch {
	case r == ' ':
		return blank
	case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
		return letter
	case r >= '0' && r <= '9':
		return digit
	case r < utf8.RuneSelf:
		return sign
	}
	return other
}
