// Limits of saved views.

/** Shared views of an account. */
export const maxSharedViews = 100

/** Views of one user. */
export const maxOwnViews = 200
