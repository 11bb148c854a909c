/** Periods of a usage report. */
export const usageSteps = ['day', 'week', 'month'] as const
export type UsageStep = (typeof usageSteps)[number]

/** Ways to split usage. Each one splits all of it. */
export const usageDimensions = ['kind', 'country', 'channel', 'status', 'direction'] as const
export type UsageDimension = (typeof usageDimensions)[number]

/** Transfers that are usage: something sold, or its refund. */
export const usageKinds = ['sms', 'sms_in', 'sms_refund', 'call', 'number_purchase', 'number_month'] as const
export type UsageKind = (typeof usageKinds)[number]
