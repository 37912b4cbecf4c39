package doctor

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/plaintext"
)

// How much of a text is looked at: programs say why they fail first, or last.
const (
	headBytes = 16 << 10
	tailBytes = 32 << 10
	pieceSize = 3 << 10 // of a line without end
)

// legible makes lines of any bytes: bounded, UTF-8, without terminal sequences
// and invisible characters, with the escapes of a JSON string undone.
func legible(text string) string {
	text = decode(bound(text))
	text = unescape(text)
	var b strings.Builder
	b.Grow(len(text))
	seen := map[uint64]int{}
	for line := range strings.SplitSeq(text, "\n") {
		form := shape(line)
		if seen[form]++; seen[form] > repeats {
			continue
		}
		for len(line) > 0 {
			piece := line
			if len(line) > pieceSize {
				piece = line[:pieceSize]
				if at := strings.LastIndexByte(piece, ' '); at > 0 {
					piece = piece[:at]
				}
			}
			line = line[len(piece):]
			if clean := plaintext.Clean(piece); clean != "" {
				b.WriteString(clean)
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

// repeats is how often a line is kept that differs in numbers only: a log that
// repeats itself says nothing new.
const repeats = 4

// shape is the same for lines that differ in numbers only.
func shape(line string) uint64 {
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(line) {
		c := line[i]
		if c >= '0' && c <= '9' {
			c = '0'
		}
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// bound keeps the beginning and the end of a long text, whole lines if it can.
func bound(text string) string {
	if len(text) <= headBytes+tailBytes {
		return text
	}
	even := (len(text) - tailBytes) &^ 1 // a UTF-16 character is not to be cut
	return text[:headBytes] + "\n" + strings.TrimPrefix(text[even:], "\n")
}

// decode makes UTF-8 of the bytes Windows programs write. Code pages cannot be
// told from each other; what is no UTF-8 becomes U+FFFD, and rules that want to
// see such text look at the ASCII around it.
func decode(text string) string {
	if strings.HasPrefix(text, "\xff\xfe") {
		return decode16(text[2:], 0)
	}
	if strings.HasPrefix(text, "\xfe\xff") {
		return decode16(text[2:], 1)
	}
	sample := text[:min(len(text), 512)]
	if nul := strings.Count(sample, "\x00"); nul > 0 && nul >= len(sample)*2/5 {
		low := 0
		if sample[0] == 0 {
			low = 1
		}
		return decode16(text, low)
	}
	text = strings.TrimPrefix(text, "\ufeff")
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	return text
}

// decode16 reads UTF-16; low is which byte of a pair is the low one.
func decode16(text string, low int) string {
	units := make([]uint16, 0, len(text)/2)
	for i := 0; i+1 < len(text); i += 2 {
		units = append(units, uint16(text[i+low])|uint16(text[i+1-low])<<8)
	}
	return string(utf16.Decode(units))
}

// unescape undoes what happens to a log inside a JSON string: \n, \r, \t, \"
// \u0027 and \\. A Windows path has backslashes of its own, so \n and its kin count
// only where no small letter or digit follows: C:\Users\me\npm-cache stays.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '\\' || i+1 == len(text) {
			b.WriteByte(c)
			continue
		}
		ends := i+2 >= len(text) || !isLowerOrDigit(text[i+2])
		switch next := text[i+1]; {
		case next == '"' || next == '\\':
			b.WriteByte(next)
			i++
		case next == '!' || next == '/':
			b.WriteByte(next)
			i++
		case next == 'u' && i+5 < len(text):
			code, err := strconv.ParseUint(text[i+2:i+6], 16, 16)
			if err != nil {
				b.WriteByte(c)
				continue
			}
			b.WriteRune(rune(code))
			i += 5
		case next == 'n' && ends:
			b.WriteByte('\n')
			i++
		case (next == 'r' || next == 't') && ends:
			b.WriteByte(' ')
			i++
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isLowerOrDigit(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
