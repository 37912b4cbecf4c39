package redact

import (
	"net/url"
	"slices"
	"strings"
)

// MaskAddress returns text with the secrets of every URL in it masked: user and password, query,
// fragment, long random segments of the path, and the whole path of a webhook, which is its
// password.
func MaskAddress(text string) string { return hideHits(text, addressHits(text)) }

// AddressSecrets returns what MaskAddress masks, to be hidden wherever it is repeated.
func AddressSecrets(text string) Secrets {
	var known, suspected []string
	for _, s := range addressHits(text) {
		if values := decoded(text[s.from:s.to]); s.certain {
			known = append(known, values...)
		} else {
			suspected = append(suspected, values...)
		}
	}
	return JoinSecrets(KnownSecrets(known...), SuspectedSecrets(suspected...))
}

// decoded returns a value as written and, if that differs, as decoded.
func decoded(value string) []string {
	all := []string{value}
	for _, decode := range []func(string) (string, error){url.QueryUnescape, url.PathUnescape} {
		if plain, err := decode(value); err == nil && !slices.Contains(all, plain) {
			all = append(all, plain)
		}
	}
	return all
}

// addressHits finds the secrets in every URL of a text.
func addressHits(text string) (found []hit) {
	for at := 0; ; {
		i := strings.Index(text[at:], "://")
		if i < 0 {
			return found
		}
		from := at + i + len("://")
		to := len(text)
		if end := strings.IndexAny(text[from:], " \t\r\n\"'<>`"); end >= 0 {
			to = from + end
		}
		found = append(found, urlHits(text[:to], from)...)
		at = from
	}
}

// urlHits finds the secrets in the URL that ends with text and whose authority begins at from.
func urlHits(text string, from int) (found []hit) {
	rest := text[from:]
	end := len(rest)
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		end = i
	}
	if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
		if colon := strings.IndexByte(rest[:at], ':'); colon >= 0 {
			found = append(found, hit{from + colon + 1, from + at, true})
		} else { // a token instead of a user name
			found = append(found, hit{from, from + at, opaque(rest[:at])})
		}
		rest, end, from = rest[at+1:], end-at-1, from+at+1
	}
	host, tail, at := rest[:end], rest[end:], from+end
	tail, fragment, _ := strings.Cut(tail, "#")
	if fragment != "" {
		found = append(found, hit{len(text) - len(fragment), len(text), false})
	}
	path, query, _ := strings.Cut(tail, "?")
	found = append(found, pathHits(host, path, at)...)
	at += len(path) + 1
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		switch {
		case value != "":
			found = append(found, hit{at + len(name) + 1, at + len(pair), suggestsSecret(name) || opaque(value)})
		case opaque(name): // ?TOKEN
			found = append(found, hit{at, at + len(name), true})
		}
		at += len(pair) + 1
	}
	return found
}

// pathHits finds the secrets in the path of a URL, which begins at at.
func pathHits(host, path string, at int) (found []hit) {
	webhook := false
	for label := range strings.SplitSeq(strings.ToLower(host), ".") {
		webhook = webhook || strings.HasPrefix(label, "hook") || strings.Contains(label, "webhook")
	}
	for segment := range strings.SplitSeq(path, "/") {
		switch {
		case segment == "":
		case webhook:
			found = append(found, hit{at, at + len(segment), opaque(segment)})
		case strings.Contains(strings.ToLower(segment), "webhook"):
			webhook = true // the rest of the path is its password
		case opaque(strings.ReplaceAll(segment, ":", "-")): // bot123:KEY
			found = append(found, hit{at, at + len(segment), true})
		}
		at += len(segment) + 1
	}
	return found
}

// hidePaths hides secrets in the paths of URLs. Users and queries are recognized by their shape.
func hidePaths(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	return hideHits(text, slices.DeleteFunc(addressHits(text), func(s hit) bool {
		before := text[:s.from]
		scheme := strings.LastIndex(before, "://")
		return strings.ContainsAny(before[scheme:], "?#") || !strings.Contains(before[scheme+len("://"):], "/")
	}))
}
