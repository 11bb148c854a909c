// Limits of the team page.

/** Members that one response shows, oldest first. */
export const maxTeamMembers = 500
