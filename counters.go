package gauze

// Counters counts what happened to the calls of a session.
type Counters struct {
	Calls     uint64 // requests from the client
	Answered  uint64 // requests that the server answered
	Failed    uint64 // requests that were answered with a Fault
	Unknown   uint64 // the faults with fault.OutcomeUnknown
	Replayed  uint64 // requests that were sent again
	Late      uint64 // responses that arrived after the request was cancelled or timed out
	Foreign   uint64 // responses to requests that were never sent
	Stray     uint64 // lines on stdout that are not messages
	FromCache uint64 // lists that were answered from the cache while the server was down
	Repaired  uint64 // calls whose arguments or tool name were repaired

	Corrected   uint64 // rejected calls that were sent again with a model's arguments
	Proposed    uint64 // rejected calls whose correction was shown to the caller and not sent
	Uncorrected uint64 // rejected calls that a model was asked about without success

	ModelInputTokens  uint64  // the tokens of questions to models
	ModelOutputTokens uint64  // the tokens of their answers
	ModelCost         float64 // what they cost in US dollars, 0 if prices are not configured
}
