package prompt

// Evidence returns the end of a system prompt, which explains how the final reply quotes its evidence. asJSON means
// that the reply is a JSON object.
func Evidence(asJSON bool) string {
	where := "End your final reply with what it rests on, in one block of this form:\n```evidence\n" + evidenceForm + "\n```\n"
	if asJSON {
		where = "Your JSON object says what it rests on, under keys of this form:\n" + evidenceForm + "\n"
	}
	return "\n# Evidence of your reply\n" + where + evidenceRules
}

const evidenceForm = `{"evidence": [{"location": "<tool and object>", "content": "<quoted word for word>", "relevance": "<what it shows>",
  "confidence": 0.9}],
 "discoveries": [{"identifier": "<name>", "item_type": "<pod, service, …>", "location": "<where>"}],
 "items_pending": ["<what to look at next>"]}`

const evidenceRules = `- content is a passage of a tool's result, or of the alert, word for word: code looks for it there.
- The first piece is [e1], the next [e2], and so on. Cite them after each sentence that rests on them, as in
  "checkout was restarted 7 times [e1]."
- Every number, name and time of such a sentence has to stand in what it cites. Code looks for them there, and marks
  those that are not: convert, round and count nothing in such sentences.
- If the evidence does not decide the question, write that it is inconclusive, and name in items_pending what to look
  at next. That is a full result.
`
