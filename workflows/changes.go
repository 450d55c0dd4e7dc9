package workflows

// Changes are the IDs of all changes that workflows make by workflow.GetVersion. A workflow that has recorded one of them is
// left alone by workers that do not know it: its tasks fail there, and Temporal gives them to other workers.
var Changes = []string{versionRecordEnd, versionBoundListing}
