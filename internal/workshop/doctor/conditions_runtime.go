package doctor

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// newInNode are functions that older versions of Node lack.
var newInNode = []string{"at", "findLast", "findLastIndex", "toSorted", "toReversed", "toSpliced", "with", "hasOwn", "replaceAll",
	"withResolvers", "structuredClone",
	"getRandomValues", "randomUUID", "any", "allSettled", "matchAll", "groupBy", "fromAsync", "fromEntries", "getSetCookie", "canParse",
	"parseEnv", "styleText", "isSubsetOf", "union", "intersection", "try", "timeout", "enableCompileCache", "loadEnvFile", "asyncDispose"}

// isNewInNode reports whether older versions of Node lack a function: groupBy, or Object.groupBy.
func isNewInNode(function string) bool {
	return slices.Contains(newInNode, function[strings.LastIndexByte(function, '.')+1:])
}

// newerPython reports whether a module was added in a later Python, or removed in one.
func newerPython(module string) bool {
	return slices.Contains([]string{"tomllib", "zoneinfo", "graphlib", "_typeshed", "imp", "asynchat", "cgi"}, module)
}

// nodeBelow reports whether the Node that ran the server is, or may be, older than a version: Node
// 17 and later print their version when they crash.
func (x *exam) nodeBelow(version int) bool {
	m := nodeVersion.FindStringSubmatch(x.text)
	if m == nil {
		m = nodeInPath.FindStringSubmatch(x.cmd.line)
	}
	if m == nil {
		return true
	}
	major, _ := strconv.Atoi(m[1])
	return major < version
}

var nodeVersion = regex.New(`(?m)^Node\.js v(\d+)\.`)

// notJSONNoise reports whether a syntax error is in a program and not in a message: JSON parsers
// say so.
func notJSONNoise(m *match) bool {
	at := strings.Index(m.x.text, m.hit)
	rest := m.x.text[max(at, 0):]
	rest, _, _ = strings.Cut(rest[min(len(m.hit), len(rest)):], "\n")
	return !m.says("is not valid JSON", "in JSON at position") && !strings.Contains(rest, "JSON")
}

var nodeInPath = regex.New(`(?i)(?:versions/node/|node-versions/|installs/node(?:js)?/|image/node/|nodejs/|node@|` +
	`\\nvm\\)v?(\d{1,2})(\.[\d.]+|\b)`)

// oldestNode is the oldest major version of Node that current servers and SDKs run on.
const oldestNode = 18

func belowSupported(version string) bool {
	major, err := strconv.Atoi(version)
	return err == nil && major < oldestNode
}

func oldNodeInPath(m *match) bool {
	version := nodeInPath.FindStringSubmatch(m.x.cmd.line)
	if version == nil || !belowSupported(version[1]) || !m.x.onlySymptom(m, nil) {
		return false
	}
	m.names["version"] = strings.TrimSuffix(version[1]+version[2], ".")
	return true
}
