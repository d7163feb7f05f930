// What went wrong with a question? One error, in the shape that the gateway's have.

export class ApiError extends Error {
  readonly status: number;
  readonly type: string;
  readonly code: string;
  /** The methods that are answered, where another was used. */
  readonly allow: string;

  constructor(status: number, type: string, code: string, message: string, allow = 'GET') {
    super(message);
    this.allow = allow;
    this.status = status;
    this.type = type;
    this.code = code;
  }
}

export const badParameter = (message: string): ApiError =>
  new ApiError(400, 'invalid_request_error', 'invalid_parameter', message);
export const noToken = (message: string): ApiError =>
  new ApiError(401, 'authentication_error', 'invalid_token', message);
export const notAllowed = (message: string): ApiError =>
  new ApiError(403, 'permission_error', 'forbidden', message);
export const notFound = (message: string): ApiError =>
  new ApiError(404, 'not_found_error', 'not_found', message);
export const badMethod = (allow: 'GET' | 'POST'): ApiError =>
  new ApiError(405, 'invalid_request_error', 'method_not_allowed', `only ${allow} is answered here`, allow);
export const tooLarge = (message: string): ApiError =>
  new ApiError(413, 'invalid_request_error', 'request_too_large', message);
export const tooMany = (message: string): ApiError =>
  new ApiError(429, 'rate_limit_error', 'rate_limited', message);
export const tooBusy = (message: string): ApiError => new ApiError(503, 'api_error', 'overloaded', message);
export const away = (message: string): ApiError => new ApiError(503, 'api_error', 'unavailable', message);
export const noGateway = (message: string): ApiError => new ApiError(503, 'api_error', 'no_gateway', message);
