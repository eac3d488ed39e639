// Whom events are of that name nobody themselves, in conversations that were captured for one user and then for another: who was named when the
// event was sent. The query node shows it, and an erasure goes by it.

/** Conditions on the captures and on the events that are looked at. */
export interface SendersOf {
  readonly captures: string
  readonly events: string
}

/**
 * SELECT of organization, conversation_id, trace_id, event_id and `sender`, of conversations with several captured users alone. What the capture
 * before it in the stream says; what was sent before all of them is of the first. Sessions and their events meet in one partition, where their
 * positions tell; captures of another one are told by their arrival. Calls name their user in every event.
 */
export const sendersSql = ({ captures, events }: SendersOf): string => `
  SELECT organization, conversation_id, trace_id, event_id,
    arrayLast(one -> if(one.5 = origin_partition, (one.2, one.3) <= (origin_sequence, origin_frame), one.1 <= received_at), named).6 AS before,
    if(before = '', named[1].6, before) AS sender
  FROM (
    SELECT DISTINCT organization, conversation_id, trace_id, event_id, received_at, origin_partition, origin_sequence, origin_frame
    FROM events WHERE ${events} AND user_id = '') AS sent
  INNER JOIN (
    SELECT organization, conversation_id,
      arraySort(groupArray((received_at, origin_sequence, origin_frame, origin_index, origin_partition, user_id))) AS named
    FROM sessions WHERE ${captures} AND user_id != '' AND report = ''
    GROUP BY organization, conversation_id HAVING uniqExact(user_id) > 1) AS captured
    USING (organization, conversation_id)`
