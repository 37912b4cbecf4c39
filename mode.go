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
	// RepairStrict repairs and rejects what cannot be repaired before it reaches the server.
	RepairStrict RepairMode = "strict"
)
