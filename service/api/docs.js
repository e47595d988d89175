"use strict";

// Addresses are relative, so that the page works under any path prefix.
SwaggerUIBundle({
  dom_id: "#swagger-ui",
  url: "openapi.json",
  validatorUrl: null,
  deepLinking: true,
  persistAuthorization: true,
  tryItOutEnabled: true,
  displayOperationId: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
});
