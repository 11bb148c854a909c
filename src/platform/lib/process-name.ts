import { hostname } from 'node:os'

/** Name of this process in the state of connections and in the log: unique among the processes of an installation. */
export const processName = `${hostname()}, process ${process.pid}`
