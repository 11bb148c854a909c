/**
 * Returns the SQL condition that a user sent a message in the inbox. A scalar subquery: the planner probes two indexes for
 * each row that a page reads.
 * @param account @param counterpart @param message @param user expressions, such as columns and placeholders
 */
export const sentBySql = (account: string, counterpart: string, message: string, user: string): string =>
  `(select true from conversations v
    join conversation_items i on i.account_id = v.account_id and i.conversation_id = v.id
    where v.account_id = ${account} and v.counterpart = ${counterpart} and i.id = ${message}
      and i.user_id = ${user}::uuid limit 1) is not null`
