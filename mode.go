package gauze

// RepairMode is what happens to tool calls whose arguments do not match the tool's input schema.
type RepairMode string

const (
	// RepairDefault repairs what has one meaning only, reports anything beyond spelling to the
	// model, and sends what cannot be repaired to the server unchanged.
	RepairDefault RepairMode = ""
	// RepairOff sends every call unchanged.
	RepairOff RepairMode = "off"
	// RepairSilent repairs without telling the model. Receipts are still in the result's _meta.
	RepairSilent RepairMode = "silent"
	// RepairReport repairs and reports every change to the model.
	RepairReport RepairMode = "report"
	// RepairStrict repairs and rejects what cannot be repaired, or cannot be checked, before it reaches the server.
	RepairStrict RepairMode = "strict"
)

// Replay is which calls of a tool gauze may send again after the server was lost with the call in
// flight.
type Replay string

const (
	// ReplayByHints follows the readOnlyHint and idempotentHint that the tool declares.
	ReplayByHints Replay = ""
	// ReplayNever never sends a call of the tool again.
	ReplayNever Replay = "never"
	// ReplaySafe always sends it again: the tool only reads.
	ReplaySafe Replay = "safe"
	// ReplayIdempotent sends it again unless another write was sent after it: calling the tool
	// twice has the same effect as calling it once.
	ReplayIdempotent Replay = "idempotent"
)
