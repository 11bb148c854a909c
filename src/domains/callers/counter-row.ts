export type CounterRow = { subject: string; codes: number; attempts: number; ends_at: Date }
