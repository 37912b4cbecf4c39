package doctor

import "slices"

// npm exits with the number of the error that stopped it, truncated to an exit code: -13 (EACCES)
// becomes 243. If a client kept nothing else, that number is the only evidence. It differs between
// systems; Windows keeps all 32 bits.
const (
	eacces    = "EACCES"
	enotempty = "ENOTEMPTY"
	ebusy     = "EBUSY"
	eexist    = "EEXIST"
	enoent    = "ENOENT"
	noNetwork = "no network"
)

var npmExits = map[int]string{
	243: eacces, 4294963204: eacces, -4092: eacces, 4294963248: eacces, -4048: eacces,
	217: enotempty, 190: enotempty, 4294963245: enotempty, -4051: enotempty,
	240: ebusy, 4294963214: ebusy, -4082: ebusy,
	239: eexist, 4294963221: eexist, -4075: eexist,
	254: enoent, 4294963238: enoent, -4058: enoent,
	64: noNetwork, 71: noNetwork, 145: noNetwork, 195: noNetwork, 146: noNetwork, 196: noNetwork, 152: noNetwork, 202: noNetwork,
	4294964288: noNetwork, -3008: noNetwork, 4294964295: noNetwork, -3001: noNetwork,
}

// npmExit reports whether npm exited with one of these errors.
func (x *exam) npmExit(m *match, names ...string) bool {
	name, ok := npmExits[x.Exit.Code]
	return ok && slices.Contains(names, name) && x.runs("npx", "npm") && x.exited(m, x.Exit.Code)
}
